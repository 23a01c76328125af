"""What CONTRIBUTING.md demands of files: the template of hand-outs, names and opening comments of rungs, the format."""

import json
import re
import shutil

import pytest
from conftest import ROOT, Files, passed, run

READS_ALL = True  # see judged_once.py

HEADINGS = ["What you will learn", "Before you start", "Theory", "The ladder", "Run it", "What to expect", "Questions",
            "Exercises", "Sources"]
MAX_WORDS = 1500
HAND_OUTS = sorted((ROOT / "labs").glob("[0-9][0-9]_*/README.md"))


def without_comments(text):
    return re.sub(r"<!--.*?-->", "", text, flags=re.S)


def words(text):
    """Tokens with a letter or a digit. Tables count, the directives of tables do not."""
    return sum(1 for token in without_comments(text).split() if re.search(r"\w", token))


def items(section):
    """The numbered items of a section, each in one line."""
    return [" ".join(item.split()) for item in re.split(r"(?m)^\d+\. ", section)[1:]]


def faults(path):
    """What a hand-out lacks, as lines. tools/course looks at its minutes, prerequisites and questions, docs/pages at its pictures."""
    text, folder, lab = path.read_text(encoding="utf-8"), path.parent.name, path.parent.name[:2]
    found = []
    if not re.match(rf"# Lab {lab}: \S", text):
        found.append(f"it begins with '# Lab {lab}: Name'")
    headings = re.findall(r"(?m)^## (.*)$", text)
    if headings != HEADINGS:
        return found + [f"its headings are {', '.join(HEADINGS)}; not {', '.join(headings)}"]
    section = dict(zip(headings, re.split(r"(?m)^## .*$", text)[1:]))
    if words(text) > MAX_WORDS:
        found.append(f"{words(text)} words: at most {MAX_WORDS}")
    for what, pattern in (("the words it needs", r"(?m)^Words: \["), ("the words it introduces", r"(?m)^New here: \S")):
        if not re.search(pattern, section["Before you start"]):
            found.append(f"'Before you start' does not name {what}")
    for mark in ("**Core**", "**Further**"):
        if mark not in section["The ladder"]:
            found.append(f"the ladder marks nothing as {mark}")
    if not any("/figures/" in figure and "/results/" not in figure for figure in re.findall(r"!\[[^]]+\]\(([^)]+)\)", text)):
        found.append("it has no figure of its own")
    if section["What to expect"].count("<!-- table\n") != 1:
        found.append("'What to expect' has one table, generated from result files")
    for kind in ("Questions", "Exercises"):
        if len(items(section[kind])) < 3:
            found.append(f"{len(items(section[kind]))} {kind.lower()}: at least three")
    found += [f"exercise {number} does not begin with Core or Further" for number, item in enumerate(items(section["Exercises"]), 1)
              if not re.match(r"(Core|Further)\b", item)]
    if not (path.parent / "MEASURED.md").is_file():
        return [*found, "there is no MEASURED.md beside it"]
    measured = (path.parent / "MEASURED.md").read_text(encoding="utf-8")
    if not measured.startswith(f"# Lab {lab}: measured\n"):
        found.append(f"MEASURED.md begins with '# Lab {lab}: measured'")
    counts = re.search(r"<!-- table\ncounts .*?<!-- end of table -->", measured, re.S)
    if counts or (ROOT / f"docs/results/counts/{folder[3:]}.json").is_file():
        core = re.findall(r"(?m)^\| `(opencl_\w+)`", section["The ladder"].partition("**Further**")[0])
        found += [f"the table of counts in MEASURED.md lacks {rung}" for rung in core
                  if not rung.endswith("_raw") and f"\n| {rung} |" not in (counts[0] if counts else "")]
    if "MEASURED.md" not in text:
        found.append("it does not link to MEASURED.md")
    return found


def test_every_hand_out_follows_the_template():
    assert HAND_OUTS, "no hand-outs found"
    assert [f"{path.parent.name}: {fault}" for path in HAND_OUTS for fault in faults(path)] == []


def test_a_hand_out_that_departs_from_the_template_is_found(scratch):
    lab = HAND_OUTS[0].parent
    name, right = f"{lab.name}/README.md", HAND_OUTS[0].read_text(encoding="utf-8")
    files = Files(scratch, {name: right, f"{lab.name}/MEASURED.md": (lab / "MEASURED.md").read_text(encoding="utf-8")})
    assert faults(files.path(name)) == [], "the unchanged hand-out is rejected"
    changes = {
        "headings": lambda t: t.replace("## What to expect", "## Results"),
        "words": lambda t: t.replace("## Theory\n", "## Theory\n" + "word " * MAX_WORDS),
        "marks nothing as **Further**": lambda t: t.replace("**Further**", "Further"),
        "no figure of its own": lambda t: re.sub(r"!\[[^]]*\]\([^)]*figures/[a-z-]+\.svg\)", "", t),
        "one table": lambda t: t.replace("<!-- table", "<!-- tables"),
        "the table of counts in MEASURED.md lacks opencl_new": lambda t: t.replace("\n| `opencl_one_item`", "\n| `opencl_new`", 1),
        "exercise 1 does not begin": lambda t: re.sub(r"(?m)(## Exercises\s+1\. )\w+", r"\1Perhaps", t),
        "begins with '# Lab": lambda t: t.replace("# Lab ", "# Laboratory ", 1),
        "does not link": lambda t: t.replace("MEASURED", "measured"),
    }
    for wanted, change in changes.items():
        changed = change(right)
        assert changed != right, f"nothing was changed for: {wanted}"
        files.write(name, changed)
        assert any(wanted in fault for fault in faults(files.path(name))), f"not found: {wanted}"
    files.path(f"{lab.name}/MEASURED.md").unlink()
    assert any("no MEASURED.md" in fault for fault in faults(files.path(name))), "a missing MEASURED.md is not found"


# Words that mean something else here: addressing, not a layout; links between pages; streaming; the lanes of a timeline.
ORDINARY = {("02", "interleaved"), ("04", "link"), ("04", "stream"), ("05", "lane")}


def words_of_kernels():
    """The words that docs/kernels.md explains: anchor and word."""
    text = (ROOT / "docs/kernels.md").read_text(encoding="utf-8")
    found = re.findall(r'<a name="([\w-]+)"></a>(?:[A-Za-z ]+|\s)*?\*\*([^*]+)\*\*', text)
    return {anchor: " ".join(word.split()) for anchor, word in reversed(found)}


def links_to_words(text):
    """Where each word is first linked."""
    return {link[1]: link.start() for link in reversed([*re.finditer(r"kernels\.md#([\w-]+)\)", without_comments(text))])}


def unexplained(text, lab, known):
    """The words that a page uses above its first link to them."""
    text = without_comments(text).partition("\n## Sources")[0]
    links = links_to_words(text)
    plain = re.sub(r"`[^`]*`|\[[^\]]*\]\([^)]*\)", lambda code: " " * len(code[0]), text)
    begin = text.find("## Before you start") + 1  # before that stands what one will learn
    found = []
    for anchor, word in words_of_kernels().items():
        use = re.compile(rf"(?<![\w-]){re.escape(word)}(?:s|es)?(?![\w-])", re.I).search(plain, begin)
        if use and anchor not in known and (lab, anchor) not in ORDINARY and links.get(anchor, len(text)) > use.start():
            found.append(f"'{word}' is used above its link to docs/kernels.md#{anchor}")
    return found


def test_each_word_is_linked_to_its_explanation_where_a_lab_first_uses_it():
    assert len(words_of_kernels()) > 50
    known, lines = {}, []  # known: by lab, what it and the labs before it explain
    for page in HAND_OUTS:
        text, lab = page.read_text(encoding="utf-8"), page.parent.name[:2]
        demanded = re.search(r"(?ms)^Prerequisites: (.*?)\n\n", text)[1]
        before = {f"{n:02}" for begin, end in re.findall(r"\b(\d\d)\b(?:\]\([^)]*\))?(?: to (\d\d))?", demanded)
                  for n in range(int(begin), int(end or begin) + 1)}
        earlier = set().union(*(known[one] for one in before))
        known[lab] = earlier | links_to_words(text).keys()
        lines += [f"{page.parent.name}/README.md: {fault}" for fault in unexplained(text, lab, earlier)]
        path = page.with_name("PATH.md")
        lines += [f"{page.parent.name}/PATH.md: {fault}" for fault in unexplained(path.read_text(encoding="utf-8"), lab, known[lab])]
        if lab == "02":
            late = text.replace("[barrier](../../docs/kernels.md#barrier)", "barrier")
            assert late != text and unexplained(late, lab, earlier) == ["'Barrier' is used above its link to docs/kernels.md#barrier"]
    assert len(known) > 1 and not lines, "\n".join(lines)


def faults_of_rung(name, text):
    """What the opening comment of a rung lacks, as lines: the pages set off 'Changed' and 'Limit' at the beginning of a
    line only. Files without a number, such as a vendor's library, need neither."""
    comment = re.match(r"(//.*\n)*", text)[0].splitlines()
    found = []
    for word in ("Changed", "Limit"):
        if any(re.search(rf"^//.*\w.*\b{word}( from \w+)?:", line) for line in comment):
            found.append(f"'{word}:' stands inside a line of the opening comment")
        number = re.match(r"(\d\d)_", name)
        if number and (word == "Limit" or int(number[1]) > 1):
            if not any(re.match(rf"// {word}\b[^:.]*:", line) for line in comment):
                found.append(f"no line of the opening comment begins with '{word}:'")
    return found


def test_Changed_and_Limit_begin_a_line_in_every_rung():
    paths = [path for kind in ("cpu/*.cpp", "cuda/*.cu", "opencl/*.cpp") for path in sorted(ROOT.glob(f"labs/[0-9][0-9]_*/{kind}"))]
    assert len(paths) > 100, f"only {len(paths)} rungs found"
    assert [f"{path}: {fault}" for path in paths for fault in faults_of_rung(path.name, path.read_text(encoding="utf-8"))] == []
    right = "// Rung 2: more.\n//\n// Changed from rung 1: a loop.\n// Limit: memory.\n#include <vector>\n"
    assert faults_of_rung("02_more.cu", right) == []
    for old, new in (("\n// Limit", " Limit"), ("// Changed", "// What changed"), ("\n//\n// Changed", " Changed")):
        assert faults_of_rung("02_more.cu", right.replace(old, new)), f"not found: {new}"


def test_no_test_case_has_a_name_that_its_program_takes_for_an_option():
    files = [path for kind in ("*.cpp", "*.cu") for path in (ROOT / "tests").rglob(kind)]
    assert len(files) > 50
    # ctest runs '--help names ...' as --help, which passes.
    assert not [path for path in files if 'TEST_CASE("-' in path.read_text(encoding="utf-8")]


def test_of_a_labs_files_only_its_tables_include_rungs_hpp():
    """So that a new rung recompiles no other."""
    found = [path for path in (ROOT / "labs").rglob("*") if path.is_file() and b'"rungs.hpp"' in path.read_bytes()]
    assert found and not [path for path in found if not re.search(rb'(?m)^#include "rungs.*\.inc"', path.read_bytes())]


def test_every_lab_runs_its_variants_on_GPUs_first():
    for main in ROOT.glob("labs/*/main.cpp"):
        assert "gpus_first(" in main.read_text(), main


def test_every_file_of_a_rung_defines_one_that_the_lab_lists():
    for lab in sorted((ROOT / "labs").glob("[0-9][0-9]_*")):
        listed = {name for path in lab.glob("rungs*.inc") for name in re.findall(r"(?m)^[A-Z_]*RUNG\((\w+),", path.read_text())}
        files = [path for backend in ("cpu", "cuda", "opencl") for path in (lab / backend).glob("*.c*")
                 if path.suffix in (".cpp", ".cu") and re.match(r"([a-z]+_)?(\d\d|baseline)_", path.name)]
        assert listed and files
        for path in files:
            defined = re.findall(r"(?m)^(?:template <[^>]*> )?void (\w+)\(", path.read_text(encoding="utf-8"))
            assert listed & set(defined), f"{path.relative_to(ROOT)} defines no rung that rungs.inc lists"


def test_files_of_rungs_are_numbered_with_two_digits_or_named_as_baselines():
    """So that they list in their order."""
    paths = [path for backend in ("cpu", "cuda", "opencl") for path in (ROOT / "labs").glob(f"[0-9][0-9]_*/{backend}/*")]
    assert paths
    assert not [path for path in paths if re.match(r"([a-z]+_)?\d+_", path.name) and not re.match(r"([a-z]+_)?\d\d_", path.name)]
    assert not [path for path in paths if re.search(r"(cub|cublas|cusparse)\.cu$", path.name) and "baseline_" not in path.name]


def test_one_version_of_CMake_is_asked_for():
    asked = {}
    for path in [*ROOT.glob("*/**/CMakeLists.txt"), ROOT / "CMakeLists.txt"]:
        for version in re.findall(r"(?m)^cmake_minimum_required\(VERSION (.*)\)", path.read_text(encoding="utf-8")):
            asked.setdefault(version, []).append(path)
    presets = json.loads((ROOT / "CMakePresets.json").read_text(encoding="utf-8"))["cmakeMinimumRequired"]
    assert list(asked) == [f"{presets['major']}.{presets['minor']}"], asked


def test_the_format_check_finds_a_line_that_is_not_formatted(scratch):
    if not re.search(r"version 14\.", run("clang-format", "--version").stdout if shutil.which("clang-format") else ""):
        pytest.skip("no clang-format 14")
    files = Files(scratch, {"bad.cpp": "int  f( ){return 1 ;}\n"})
    files.copy("tools/check-format.sh", ".clang-format")
    check = files.path("tools/check-format.sh")
    passed("git", "init", "-q", scratch)
    passed("git", "-C", scratch, "add", "bad.cpp")
    found = run(check)
    assert found.returncode != 0 and "bad.cpp" in found.stderr, found
    passed(check, "--fix")
    passed(check)
    files.write("not_added.cpp", "int  g( ){return 2 ;}\n")  # git does not know it yet
    found = run(check)
    assert found.returncode != 0 and "not_added.cpp" in found.stderr, found


def test_clangd_finds_the_compile_commands_of_the_preset_default(scratch):
    assert "\n  CompilationDatabase: build/default\n" in (ROOT / ".clangd").read_text()
    presets = json.loads((ROOT / "CMakePresets.json").read_text(encoding="utf-8"))
    assert presets["configurePresets"][0]["binaryDir"] == "${sourceDir}/build/${presetName}"
    if not shutil.which("clangd"):
        pytest.skip("no clangd")
    source = scratch / "labs/main.cpp"
    command = {"directory": str(scratch / "build/default"), "file": str(source), "command": f"c++ -DGIVEN_BY_CMAKE=0 -c {source}"}
    Files(scratch, {"labs/main.cpp": "int main() { return GIVEN_BY_CMAKE; }\n",
                    "build/default/compile_commands.json": json.dumps([command])}).copy(".clangd")
    assert "All checks completed, 0 errors" in passed("clangd", "--check=labs/main.cpp", cwd=scratch).stderr


def test_the_last_block_has_a_fence_on_both_sides_of_its_ticket():
    """No device at hand shows that one is missing: an H200 keeps the order."""
    fences = {}
    for path in ROOT.glob("labs/*/cuda/*.cu*"):
        for found in re.finditer(r"(?s)(.{200}) last = atomic\w+\(.*? == gridDim\.x - 1;(.{250})", path.read_text(encoding="utf-8")):
            fences[path.name] = [side.count("__threadfence();") for side in found.groups()]
    assert fences and set(map(tuple, fences.values())) == {(1, 1)}, fences


def test_no_page_shows_a_mark_of_an_exercise():
    for path in (*ROOT.glob("docs/**/*.md"), *ROOT.glob("labs/*/*.md"), ROOT / "README.md"):
        text = re.sub(r"(?m)^    \$ .*", "", without_comments(path.read_text(encoding="utf-8")))
        assert path.name == "grading.md" or not re.search(r"//\||// (END )?(ANSWER|EXERCISE)\b", text), path
