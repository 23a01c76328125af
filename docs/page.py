#!/usr/bin/env python3
"""What Doxygen reads in place of a Markdown page: page.py ROOT FILE prints it.

The pages are written for a code host; this puts into Doxygen's words what it does not know or shows wrongly:
- Every page and every heading gets a name, so that `page.md#a-heading` and `<a name="word"></a>` can be linked to.
- A link to a folder means its README; one to a file that is not among the pages becomes plain text.
- $x$ and $$x$$ are formulas. *Emphasis* may stand inside a word, as in 4*n* bytes.
- In a hand-out and in docs/formulas.md, a variant's name in backquotes leads to the file that defines it; a hand-out gets
  a list of all files of its lab at the end. So formula, page and kernel lead to each other.
- Comments, <!-- like this --> at the beginning of a line, are left out, and so are the marks of exercises.
- Labs that are not in this checkout are left out of README.md and docs/formulas.md.
"""
import pathlib
import re
import sys

SOURCES = {".hpp", ".cpp", ".cu", ".cuh", ".cl"}  # as FILE_PATTERNS in Doxyfile.in has them
LINK = re.compile(r"(!?)\[((?:[^][]|\[[^][]*\])*)\]\(([^()\s]+)\)")
WORD = re.compile(r'<a name="([A-Za-z0-9_-]+)"></a>')
HEADING = re.compile(r"^(#{1,6}) +(.*?)(?: +\{#([A-Za-z0-9_-]+)\})? *$")
DEFINITION = re.compile(r"^(?:template <[^>]*>\s+)?void ((?:cpu|cuda|opencl)_[a-z0-9_]+)\(", re.MULTILINE)


def page_name(path):
    """What Doxygen calls the page of this file (a path below the root), or nothing when it decides itself."""
    lab = re.fullmatch(r"labs/\d+_([a-z0-9_]+)/([A-Za-z0-9_]+)\.md", path)
    if lab:
        return f"lab_{lab[1]}" if lab[2] == "README" else f"lab_{lab[1]}_{lab[2].lower()}"
    if path == "README.md":
        return "index"
    name = path[:-len(".md")].removeprefix("docs/").removesuffix("/README")
    return re.sub(r"[^a-z0-9]+", "_", name.lower())


def slug(heading):
    """The anchor that a code host gives to a heading."""
    return re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).strip().replace(" ", "-")


def ascii_name(text):
    return re.sub(r"[^A-Za-z0-9_-]", "", text)


class Page:
    def __init__(self, root, file):
        self.root, self.file = root, file
        self.path = file.relative_to(root).as_posix()
        self.name = page_name(self.path)
        self.lab = self.path.split("/")[1] if self.path.startswith("labs/") else ""
        self.variants = {}

    def has_lab(self, folder):
        readme = self.root / "labs" / folder / "README.md"
        return readme.is_file() and readme.read_text(encoding="utf-8").startswith("# ")

    def find_variants(self, folder):
        self.variants = {}
        for source in sorted((self.root / "labs" / folder).glob("*/*.c*")):
            for name in DEFINITION.findall(source.read_text(encoding="utf-8")):
                self.variants.setdefault(name, source.relative_to(self.root).as_posix())

    def link(self, match):
        mark, words, target = match.groups()
        if re.match(r"[a-z]+:|@", target):
            return match[0]
        path, _, anchor = target.partition("#")
        file = (self.file.parent / path).resolve() if path else self.file
        if file.is_dir() and (file / "README.md").is_file():
            file = file / "README.md"
        if not file.is_relative_to(self.root):
            return match[0]
        below = file.relative_to(self.root).as_posix()
        if mark:  # all pictures stand in one folder of the pages
            shown = f'<a href="figures/{file.name}"><img src="figures/{file.name}" alt="{words}"/></a>'
            return shown if file.is_file() else match[0]
        if not file.is_file():
            return words if self.path == "README.md" and below.startswith("labs/") else match[0]
        if file.suffix == ".md":
            return f"[{words}](@ref {page_name(below)}{'_' + ascii_name(anchor) if anchor else ''})"
        if file.suffix in SOURCES and re.match("labs/|common/|tests/support/", below):
            return f'@ref {below} "{words.replace("`", "")}"'
        return words

    def prose(self, text):
        """Text without code in it."""
        formulas = []

        def formula(match):  # kept away from what follows
            formulas.append(match[1].strip("`"))
            return f"\x01{len(formulas) - 1}\x01"

        text = re.sub(r"(?<![\\$\w])\$(?![\s$])([^$]*?[^\s$\\])\$(?![\w$])", formula, text)
        text = LINK.sub(self.link, text)
        text = WORD.sub(lambda m: f"@anchor {self.name}_{m[1]} ", text)
        text = re.sub(r"\*\*(?=[^\s*])((?:[^*|]|\*(?!\*))*?[^\s*|])\*\*", r"<b>\1</b>", text)
        text = re.sub(r"(?<!\*)\*(?=[^\s*])([^*|]*?[^\s*|])\*(?!\*)", r"<em>\1</em>", text)
        return re.sub("\x01(\\d+)\x01", lambda m: f"@f${formulas[int(m[1])]}@f$", text)

    def paragraph(self, text):
        """Text with code in backquotes, which stays as it is, unless it is a variant's name."""
        parts = re.split(r"(`+)(.+?)\1", text, flags=re.DOTALL)  # prose, backquotes, code, prose, ...
        held, whole = [], ""
        for i in range(0, len(parts), 3):
            whole += parts[i]
            if i + 2 < len(parts):
                held.append((parts[i + 1], parts[i + 2]))
                whole += f"\x02{len(held) - 1}\x02"

        def code(match):
            quotes, words = held[int(match[1])]
            if words in self.variants:
                return f'@ref {self.variants[words]} "{words}"'
            return f"{quotes}{words}{quotes}"

        return re.sub("\x02(\\d+)\x02", code, self.prose(whole))

    def convert(self, text):
        out, lines, seen = [], [], set()

        def flush():
            if lines:
                out.append(self.paragraph("\n".join(lines)))
                lines.clear()

        fence, code, formula = "", False, False
        for line in text.split("\n"):
            heading = HEADING.match(line)
            if fence:
                out.append(line)
                if line.strip() == fence:
                    fence = ""
            elif line.strip() == "$$" or (line.strip().startswith("$$") and line.strip().endswith("$$") and len(line.strip()) > 4):
                flush()
                if line.strip() != "$$":
                    out.append(f"@f[ {line.strip()[2:-2]} @f]")
                else:
                    formula = not formula
                    out.append("@f[" if formula else "@f]")
            elif formula:
                out.append(line)
            elif re.match(r" *```", line):
                flush()
                fence = "```"
                out.append(line)
            elif line.startswith("    ") and not lines:  # code; after text it is the text's next line
                out.append(line)
            elif heading:
                flush()
                marks, words, name = heading.groups()
                if len(marks) == 1 and not out:
                    name = name or self.name
                    out.append(line if self.name == "index" else f"# {words} {{#{name}}}")
                else:
                    name = name or f"{self.name}_{ascii_name(slug(words))}"
                    while name in seen:
                        name += "_"
                    seen.add(name)
                    out.append(f"{marks} {words} {{#{name}}}")
            elif not line.strip():
                flush()
                out.append(line)
            else:
                lines.append(line)
        flush()
        return "\n".join(out)

    def files_of_lab(self):
        name = self.lab.partition("_")[2]
        text = f"\n\n## In the code {{#code_{name}}}\n\n"
        headers = "".join(h.read_text(encoding="utf-8") for h in sorted(self.file.parent.glob("*.hpp")))
        if re.search(rf"^namespace {name}\b", headers, re.MULTILINE):
            text += f"Everything of this lab: namespace @ref {name}.\n"
        text += "Formulas and the kernels that compute them: @ref formulas. One file per rung:\n\n"
        for back_end in ("cpu", "opencl", "cuda", "complete"):
            for source in sorted((self.file.parent / back_end).glob("*.*")):
                if source.suffix in SOURCES:
                    text += f'- @ref labs/{self.lab}/{back_end}/{source.name} "{back_end}/{source.name}"\n'
        return text

    def formulas(self, text):
        """docs/formulas.md has a section for each lab, "## 01_saxpy: title"; only those that are there are kept."""
        begin, *sections = re.split(r"^(?=## )", text, flags=re.MULTILINE)
        out = self.convert(begin)
        for section in sections:
            number, name, title = re.match(r"## (\d+)_([a-z0-9_]+)(: .*)", section).groups()
            if self.has_lab(f"{number}_{name}"):
                self.find_variants(f"{number}_{name}")
                body = section.split("\n", 1)[1]
                out += self.convert(f"## {number}{title} {{#formulas_{name}}}\n\nThe lab: @ref lab_{name}.\n{body}")
        return out

    def text(self):
        text = self.file.read_text(encoding="utf-8")
        text = re.sub(r"^<!--.*?-->[ \t]*\n", "", text, flags=re.MULTILINE | re.DOTALL)
        if self.path not in ("docs/grading.md", "CONTRIBUTING.md"):  # these explain the marks
            text = re.sub(r"^ *//(\|| (END )?ANSWER\b).*\n", "", text, flags=re.MULTILINE)
        if self.path == "docs/formulas.md":
            return self.formulas(text)
        if not self.lab:
            return self.convert(text)
        if not self.has_lab(self.lab):
            return ""
        self.find_variants(self.lab)
        is_hand_out = self.path == f"labs/{self.lab}/README.md"
        return self.convert(text) + (self.files_of_lab() if is_hand_out else "")


if __name__ == "__main__":
    print(Page(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()).text())
