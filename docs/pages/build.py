#!/usr/bin/env python3
"""Builds the pages: build.py FOLDER [--zip FILE]

Pages are made of the Markdown files and of the rungs of the labs; those of all code, below api/, by Doxygen. They need
no server: `index.html` can be opened as a file. --zip also packs them into one file. Exit code 1, with a line for each fault: a link
that leads nowhere, a comment that is missing, whatever Doxygen warns of. Needs doxygen, pandoc and Python's pygments.
"""

import functools
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile
from html import escape
from string import Template

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
try:
    import pygments  # noqa: F401
except ImportError:
    sys.exit("the pages need Python's pygments (Debian's package python3-pygments)")

from doxygen import Doxygen  # noqa: E402
from listings import Listings  # noqa: E402
from prose import Fault, read_all, raw, table, write_all  # noqa: E402
from repository import Repository  # noqa: E402
from rungs import Rungs  # noqa: E402
import search  # noqa: E402


LABS = "index.html#the-labs"  # the section of README.md that lists them


def menu_of(repository, pages):
    """[(title of a group, [(address, title)])]; the order is that of reading."""
    def entry(path, title=None):
        return [(repository.pages[path], title or pages[path].title)] if path in pages else []

    lessons = repository.root / "docs/lessons/README.md"
    order = re.findall(r"\]\(([\w-]+\.md)\)", lessons.read_text(encoding="utf-8")) if lessons.is_file() else []
    labs = []
    for lab in repository.labs:
        folder = f"labs/{lab.folder.name}"
        labs.append((f"{lab.number} {lab.title.partition(': ')[2]}",
                     [*entry(f"{folder}/README.md", "Hand-out"), *entry(f"{folder}/PATH.md", "Your path"),
                      (f"lab_{lab.name}_rungs.html", "Rungs"), *entry(f"{folder}/MEASURED.md", "Measured"),
                      *[one for path in pages if path.startswith(folder) and path.count("/") == 3 for one in entry(path)],
                      *(entry("docs/scenes.md", "Scenes") if lab.name == "fdtd" else [])]))
    return [
        ("Start", [*entry("README.md"), *entry("docs/start.md"), *entry("docs/kernels.md"), *entry("docs/parallel.md")]),
        ("Labs", labs),
        ("Lessons", [one for name in dict.fromkeys(["README.md", *order]) for one in entry(f"docs/lessons/{name}")]),
        ("Results", [*entry("emulator/README.md"), *entry("docs/emulated.md"),
                     *(one for path in pages if path.startswith("docs/results/") for one in entry(path))]),
        ("Sources", [*entry("docs/formulas.md"), *entry("docs/concordance.md"), *entry("docs/texts-faults.md"),
                     *entry("docs/word-list.md")]),
        ("Instructors", [*entry("docs/course.md"), *entry("docs/exercises.md"), *entry("docs/grading.md")]),
        ("Code", [("api/index.html", "All sources (Doxygen)"), *entry("CONTRIBUTING.md"), *entry("tools/README.md")]),
    ]


def flat(menu):
    for _, entries in menu:
        for one in entries:
            yield from one[1] if isinstance(one[1], list) else [one]


def menu_html(menu, current, at):
    """The menu on the page `current`, whose own entry, or that of the page above it, is `at`. The title of a group leads to its first page."""
    def link(address, title, more=""):
        here = f' aria-current="{"page" if address == current else "true"}"' if address == at and not more else ""
        return f'<li{more and " class=group"}><a href="{address}"{here}>{escape(title)}</a>{more}</li>'

    def listed(title, entries):
        within = [address for address, _ in flat([(title, entries)])]
        opened = " open" if at in within else ""
        inside = "".join(listed(*one) if isinstance(one[1], list) else link(*one) for one in entries)
        return link(LABS if title == "Labs" else within[0], title, f'<details{opened}><summary aria-label="{escape(title)}: pages"></summary>'
                    f"<ul>{inside}</ul></details>") if within else ""

    return f"<ul>{''.join(listed(*one) for one in menu)}</ul>"


class Site:
    def __init__(self, repository, menu):
        self.repository, self.menu = repository, menu
        asked = ["git", "-C", repository.root, "log", "-1", "--format=commit %h of %cs"] if shutil.which("git") else ["true"]
        self.commit = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
        self.bodies, self.about = {}, {}  # address: blocks; address: (title, sections, entry of the menu, previous, next)

    def add(self, address, title, blocks, sections=(), at="", around=(None, None)):
        if address.lower() in (one.lower() for one in self.bodies):
            raise Fault(f"two pages have the name {address}: the second is {title!r}")
        self.bodies[address] = blocks
        self.about[address] = (title, [one for one in sections if one[0] in (2, 3)], at or address, *around)

    def write(self, folder):
        template = Template((HERE / "page.html").read_text(encoding="utf-8"))
        texts, index = write_all(self.repository, self.bodies), []
        for address, body in texts.items():
            title, sections, at, before, after = self.about[address]
            contents = "".join(f'<li class="level{level}"><a href="#{anchor}">{escape(words)}</a></li>' for level, anchor, words in sections)
            body = re.sub(r'<(h[23]) id="([^"]*)"(.*?)</\1>', r'<\1 id="\2"\3<a class="permalink" href="#\2" aria-label="link to this section"></a></\1>', body)
            around = "".join(f'<a rel="{rel}" href="{to[0]}"><span>{words}</span> {escape(to[1])}</a>' if to else "<span></span>"
                             for rel, words, to in (("prev", "Previous", before), ("next", "Next", after)))
            (folder / address).write_text(template.substitute(
                title=escape(title), menu=menu_html(self.menu, address, at), body=body, around=around, commit=self.commit,
                contents=f'<nav class="contents" aria-label="On this page"><details open><summary>On this page</summary><ol>{contents}'
                         "</ol></details></nav>" if len(sections) > 1 else ""), encoding="utf-8")
            index += search.sections_of(address, title, body, sections)
        index += ((address, "API", name, "", search.OF_API) for name, address in self.repository.api.items())
        index += ((address, "Source", path, "", search.OF_SOURCE) for path, address in self.repository.pages.items() if "_source." in address)
        if not search.MISSING:
            shutil.copy(search.SCRIPT, folder / "lunr.min.js")
            search.write(folder, index)
        return texts


def broken_links(folder, texts):
    """What leads to no page or to no place in one: of these pages, {address: HTML} in a folder."""
    @functools.cache
    def anchors(address):
        text = texts.get(address) or (folder / address).read_text(encoding="utf-8", errors="replace")
        return {*re.findall(r'\bid="([^"]+)"', text), "main"}

    faults = set()
    for address, text in texts.items():
        for target in re.findall(r'\b(?:href|src)="((?![a-z]+:)[^"]*)"', text):
            page, _, anchor = target.partition("#")
            if page and not (folder / page).is_file():
                faults.add(f"{address}: there is no {target}")
            elif anchor and anchor not in anchors(page or address):
                faults.add(f"{address}: there is no place {target}")
    return sorted(faults)


def build(root, folder):
    repository = Repository(root)
    doxygen = Doxygen(repository)
    repository.api_names, repository.api_files = doxygen.names, doxygen.files
    repository.api = {path.removeprefix("common/include/gpulab/"): doxygen.files[path] for path in repository.headers() if path in doxygen.files} | doxygen.names
    pages = read_all(repository)
    menu = menu_of(repository, pages)
    site, listings = Site(repository, menu), Listings(repository)
    rungs = Rungs(repository, pages, listings)

    titles = {page.address: page.title for page in pages.values()}
    titles.update({f"lab_{lab.name}_rungs.html": f"{lab.title}: rungs" for lab in repository.labs})
    order = [(address, titles[address]) for address, _ in flat(menu) if "/" not in address]
    around = {address: (before, after) for before, (address, _), after in zip([None, *order], order, [*order[1:], None])}

    for page in pages.values():
        blocks, sections = page.blocks, page.sections
        if files := repository.results(page.path):
            blocks, sections = [*blocks, raw(files_of_results(repository, files))], [*sections, (2, "files", "Files and pictures")]
        site.add(page.address, page.title, blocks, sections, around=around.get(page.address, (None, None)))
    for lab in repository.labs:
        address = f"lab_{lab.name}_rungs.html"
        site.add(address, titles[address], *rungs.ladder_page(lab), around=around[address])
        beside = [None, *lab.rungs, None]
        for before, rung, after in zip(beside, lab.rungs, beside[2:]):
            site.add(rung.page, f"{rung.name}: lab {lab.number}, {rung.place}", *rungs.page(rung), address,
                     tuple((one.page, one.name) if one else None for one in (before, after)))
    site.add("search.html", "Search", [raw(f'<p id="search-count" role="status">{search.MISSING or "Type words into the search field."}</p>'
                                           '<noscript><p>The search needs JavaScript.</p></noscript><ol id="search-results"></ol>'
                                           + ('' if search.MISSING else '<script src="lunr.min.js"></script><script src="search-index.js"></script>'))])

    shutil.rmtree(folder, ignore_errors=True)
    (folder / "figures").mkdir(parents=True)
    for name, picture in repository.pictures.items():
        shutil.copy(picture, folder / "figures" / name)
    for path in [path for page in pages for path in repository.results(page)]:
        (folder / path.removeprefix("docs/")).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / path, folder / path.removeprefix("docs/"))
    for name in ("pages.css", "pages.js"):
        shutil.copy(HERE / name, folder / name)
    shutil.move(root / "build/api", folder / "api")
    if font := search.installed("share/fonts/truetype/dejavu/DejaVuMathTeXGyre.ttf"):
        shutil.copy(font, folder / "math.ttf")
        with (folder / "pages.css").open("a", encoding="utf-8") as styles:
            styles.write('@font-face { font-family: "Formulas"; src: url(math.ttf); }\n')
    texts = site.write(folder)
    return doxygen.faults + broken_links(folder, texts), len(texts)


def files_of_results(repository, files):
    """The section of a page of results that leads to its files and to the pictures that are drawn from them."""
    recipes = repository.root / "docs/figures/results/list"
    drawn = [line.split() for line in recipes.read_text(encoding="utf-8").splitlines()] if recipes.is_file() else []
    rows = [(f'<a href="{path.removeprefix("docs/")}">{path.rpartition("/")[2]}</a>',
             ", ".join(f'<a href="figures/{words[0]}">{words[0]}</a>' for words in drawn if path in words)) for path in files]
    return f'<h2 id="files">Files and pictures</h2>{table("Files and pictures", ("results", "pictures"), rows)}'


def pack(folder, file):
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for one in sorted(folder.rglob("*")):
            packed.write(one, pathlib.Path("gpu-labs-pages") / one.relative_to(folder))


def main(arguments):
    if len(arguments) not in (1, 3) or arguments[1:2] not in ([], ["--zip"]) or arguments[0].startswith("-"):
        asked = arguments in (["--help"], ["-h"])
        print(__doc__.strip() if asked else "usage: build.py FOLDER [--zip FILE]", file=sys.stdout if asked else sys.stderr)
        return 0 if asked else 2
    folder = pathlib.Path(arguments[0])
    try:
        faults, count = build(HERE.parents[1], folder)
        if not faults and arguments[2:]:
            pack(folder, arguments[2])
    except (Fault, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    for fault in [*faults, *filter(None, [search.MISSING])]:
        print(fault, file=sys.stderr)
    if not faults:
        print(f"{count} pages")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
