"""Hand-outs for students and grading for instructors. docs/grading.md describes the parts."""
