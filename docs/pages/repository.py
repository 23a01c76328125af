"""What the repository holds for the pages: labs, rungs, files, and the address of the page of each. Flat names, so that every
link between pages is a file name."""

import functools
import os
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
from grading.rows import rows_in  # noqa: E402

BACK_ENDS = {"cpu": "CPU", "opencl": "OpenCL", "cuda": "CUDA"}
DEFINITION = re.compile(r"^(?:template <[^>]*>\s+)?void ((?:cpu|cuda|opencl)_[a-z0-9_]+)\(", re.MULTILINE)
RUNG = re.compile(r'^([A-Z]+)_[A-Z_]*RUNG\((\w+),\s*((?:"(?:[^"\\]|\\.)*"\s*)+)(.*?)\)$', re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^(#{1,6}) +(.*?)(?: +\{#([A-Za-z0-9_-]+)\})? *$")
WORD = re.compile(r'<a name="([A-Za-z0-9_-]+)"></a>')


def slug(heading):
    """The anchor that a code host gives to a heading."""
    return re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).strip().replace(" ", "-")


class Rung:
    """A line of a lab's rungs*.inc, with the file that defines it."""

    def __init__(self, lab, ladder, back_end, name, summary, baseline, number):
        self.lab, self.ladder, self.back_end, self.name, self.summary = lab, ladder, back_end, name, summary
        self.baseline, self.number = baseline, number
        self.file = None  # below the root
        self.page = f"rung_{lab.name}_{name}.html"
        self.before = None  # in its ladder and back end
        self.mistakes = []

    @property
    def place(self):
        """Its place in its ladder, in words."""
        return "library, for comparison" if self.baseline else f"{BACK_ENDS[self.back_end]} rung {self.number}"

    @property
    def kernel_file(self):
        """Where its kernels stand: OpenCL's are in a file of their own."""
        twin = self.file.with_suffix(".cl")
        return twin if (self.lab.root / twin).is_file() else self.file


class Lab:
    def __init__(self, root, folder):
        self.root, self.folder = root, folder
        self.number, _, self.name = folder.name.partition("_")
        self.title = self.text("README.md").partition("\n")[0].removeprefix("# ")
        self.rungs = []
        for inc in sorted(folder.glob("rungs*.inc")):
            self.read_rungs(inc)
        page, first = self.text("README.md"), {}
        for rung in self.rungs:  # the ladders in the order in which the hand-out speaks of them
            at = page.find(f"`{rung.name}`")
            first[rung.ladder] = min(first.get(rung.ladder, len(page)), at if at >= 0 else len(page))
        self.rungs.sort(key=lambda rung: first[rung.ladder])
        self.by_name = {rung.name: rung for rung in self.rungs}
        toml = root / f"tests/mistakes/{folder.name}.toml"
        for row in rows_in(toml.read_text(encoding="utf-8")) if toml.is_file() else []:
            for name in row["rung"]:
                if name in self.by_name:
                    self.by_name[name].mistakes.append(row)

    def text(self, name):
        file = self.folder / name
        return file.read_text(encoding="utf-8") if file.is_file() else ""

    def read_rungs(self, inc):
        defined = {}
        for source in sorted(self.folder.glob("*/*.c*")):
            for name in DEFINITION.findall(source.read_text(encoding="utf-8")):
                defined.setdefault(name, source.relative_to(self.root))
        last, count = {}, {}
        for back_end, name, words, more in RUNG.findall(inc.read_text(encoding="utf-8")):
            back_end = back_end.lower()
            summary = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', words))
            count[back_end] = count.get(back_end, 0) + 1
            rung = Rung(self, inc.stem, back_end, name, summary, ".baseline" in more, count[back_end])
            rung.file = defined.get(name)
            rung.before = last.get(back_end)
            last[back_end] = rung
            self.rungs.append(rung)

    def twins(self, rung):
        """The rungs of the other back ends that do the same: those of the same name."""
        words = rung.name.partition("_")[2]
        return [other for other in self.rungs if other is not rung and other.name.partition("_")[2] == words]


class Repository:
    def __init__(self, root):
        self.root = Path(root).resolve()
        self.api_names, self.api_files = {}, {}  # where Doxygen puts a name, a file: addresses
        self.labs = [lab for folder in sorted((self.root / "labs").glob("[0-9][0-9]_*"))
                     if folder.is_dir() and (lab := Lab(self.root, folder)).title]
        self.rungs = [rung for lab in self.labs for rung in lab.rungs]
        names = [rung.name for rung in self.rungs]
        self.unique = {rung.name: rung for rung in self.rungs if names.count(rung.name) == 1}
        self.rung_of_file = {}
        for rung in self.rungs:
            for file in {rung.file, rung.kernel_file}:
                self.rung_of_file.setdefault(file.as_posix(), rung)

    def lab_of(self, path):
        return next((lab for lab in self.labs if path.startswith(f"labs/{lab.folder.name}/")), None)

    def prose(self):
        """The Markdown pages, as paths below the root."""
        patterns = ("README.md", "CONTRIBUTING.md", "emulator/README.md", "tools/README.md", "docs/*.md", "docs/lessons/*.md", "docs/results/*/README.md",
                    "labs/*/README.md", "labs/*/MEASURED.md", "labs/*/PATH.md", "labs/*/*/README.md")
        found = [file.relative_to(self.root).as_posix() for pattern in patterns for file in sorted(self.root.glob(pattern))]
        return [path for path in found if not path.startswith("labs/") or self.lab_of(path)]

    def included(self, path, name):
        """The path of a file that another one includes, as far as it is here; X.cl.hpp is made of X.cl."""
        folder, lab = path.rpartition("/")[0], self.lab_of(path)
        for begin in (folder, f"labs/{lab.folder.name}" if lab else folder, "common/include"):
            for file in (f"{begin}/{name}", f"{begin}/{name.removesuffix('.hpp')}"):
                if (self.root / file).is_file():
                    return os.path.normpath(file)
        return None

    @functools.cache
    def files_of(self, lab):
        """{file name: path below the root} of the sources of a lab whose names are in no other of its folders."""
        paths = [path for path in self.pages if path.startswith(f"labs/{lab.folder.name}/") and not path.endswith(".md")]
        names = [path.rpartition("/")[2] for path in paths]
        return {name: path for name, path in zip(names, paths) if names.count(name) == 1}

    def results(self, page):
        """The files that a page of results describes, as paths below the root."""
        files = sorted((self.root / page).parent.glob("*.json")) if page.startswith("docs/results/") else []
        return [file.relative_to(self.root).as_posix() for file in files]

    def headers(self):
        return [file.relative_to(self.root).as_posix() for file in sorted((self.root / "common/include/gpulab").rglob("*.hpp"))]

    @functools.cached_property
    def pictures(self):
        """{name: file}; all pictures of the pages stand in one folder."""
        found = [file for folder in ("docs", "labs") for kind in ("svg", "png") for file in sorted((self.root / folder).rglob(f"*.{kind}"))]
        return {file.name: file for file in found}

    @functools.cached_property
    def pages(self):
        """{path below the root: address of its page}; of other code than the rungs' it is Doxygen's: of headers in common what they
        offer, of files of the labs the source."""
        code = {path: page if path.startswith("common/") else page.replace(".html", "_source.html") for path, page in self.api_files.items()}
        return {path: prose_page(path) for path in self.prose()} | code | {path: rung.page for path, rung in self.rung_of_file.items()}


def prose_page(path):
    lab = re.fullmatch(r"labs/\d+_([a-z0-9_]+)/(.*)\.md", path)
    if lab:
        return f"lab_{lab[1]}{'' if lab[2] == 'README' else '_' + lab[2].lower().replace('/readme', '')}.html"
    if path == "README.md":
        return "index.html"
    name = path.removesuffix(".md").removeprefix("docs/").removesuffix("/README")
    return re.sub(r"[^a-z0-9]+", "_", name.lower()) + ".html"
