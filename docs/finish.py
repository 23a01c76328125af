#!/usr/bin/env python3
"""Puts the finishing touches to the pages that Doxygen wrote: finish.py FOLDER.

- Words of the hand-outs and of the rungs' descriptions go into the search: Doxygen's own index holds names and titles only.
- MathJax is loaded only by pages with formulas. Its empty font is no address, which browsers refuse to load for a file.
- The list of sections at the top of a page names only sections that are there.
- The lists of all members by their first letters go: the search does that, and the menu does not name them (layout.xml.in).
- The menu keeps what is below a file in a variable named after it; no name of a variable begins with a digit.
"""
import html.parser
import json
import pathlib
import re
import sys

TOO_COMMON = set("""about above after again against also another because before below between both cannot come could does done
down each either else even every first from gives goes have here holds instead into itself just kept last less like made make
makes many more most much must needs neither next none nothing once only other others over part same says should since some
stands still such take takes than that their them then there these they this those three through time under until upon used
uses very want wants well were what when where which while whole whose will with without would your""".split())
LONGEST_LIST = 12  # places shown for one word


class Words(html.parser.HTMLParser):
    """The words of a page, each with the sections (anchor, title) in which it stands."""

    def __init__(self):
        super().__init__()
        self.sections, self.found, self.title = [("", "")], {}, ""
        self.inside, self.skip, self.heading = 0, 0, None

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        classes = (attributes.get("class") or "").split()
        if self.inside or "textblock" in classes:
            self.inside += tag == "div"
        if "fragment" in classes and tag == "div":
            self.skip = self.inside
        if self.inside and tag in ("h1", "h2", "h3"):
            self.heading = ""
        if self.heading is not None and tag == "a" and attributes.get("id"):
            self.sections.append((attributes["id"], ""))
        if tag == "title":
            self.heading = ""

    def handle_endtag(self, tag):
        if tag == "div" and self.inside:
            if self.skip == self.inside:
                self.skip = 0
            self.inside -= 1
        if tag == "title":
            self.title, self.heading = self.heading.partition(": ")[2] or self.heading, None
        if tag in ("h1", "h2", "h3") and self.heading is not None:
            self.sections[-1] = (self.sections[-1][0], " ".join(self.heading.split()))
            self.heading = None

    def handle_data(self, data):
        if self.heading is not None:
            self.heading += data
        if self.inside and not self.skip:
            for word in re.findall(r"[A-Za-z][A-Za-z-]{2,}[A-Za-z]", data):
                word = word.lower()
                if word not in TOO_COMMON and self.sections[-1] not in self.found.setdefault(word, []):
                    self.found[word].append(self.sections[-1])


def words_of_pages(folder):
    """{word: [(address, text to show)]}, hand-outs and guides first, then rungs."""
    places = {}
    pages = sorted(p for p in folder.glob("*.html") if re.match(r"lab_|start|kernels|formulas|scenes|contributing|course|exercises|grading|results_|index", p.name))
    rungs = sorted(p for p in folder.glob("*.html") if re.search(r"_8(cu|cl|cpp)\.html$", p.name))
    for page in pages + rungs:
        words = Words()
        words.feed(page.read_text(encoding="utf-8"))
        for word, sections in words.found.items():
            for anchor, title in sections:
                shown = words.title.removesuffix(" File Reference") + (f": {title}" if title and page in pages else "")
                places.setdefault(word, []).append((f"../{page.name}" + (f"#{anchor}" if anchor else ""), shown))
    return places


def add_to_search(folder, places):
    """Doxygen keeps all names that begin with the n-th letter of a list in search/all_n.js, n in hexadecimal."""
    search = folder / "search"
    data = (search / "searchdata.js").read_text(encoding="utf-8")
    letters = re.search(r'0: "([^"]*)"', data)[1]
    for letter in sorted({word[0] for word in places}):
        if letter not in letters:
            new = f"{len(letters):x}"
            letters += letter
            (search / f"all_{new}.js").write_text("var searchData=\n[\n];\n", encoding="utf-8")
            if (search / "all_0.html").exists():  # Doxygen 1.9.4 has a page for each
                text = (search / "all_0.html").read_text(encoding="utf-8").replace("all_0.js", f"all_{new}.js")
                (search / f"all_{new}.html").write_text(text, encoding="utf-8")
    data = re.sub(r'0: "[^"]*"', f'0: "{letters}"', data, count=1)
    (search / "searchdata.js").write_text(data, encoding="utf-8")
    for n, letter in enumerate(letters):
        file = search / f"all_{n:x}.js"
        entries = [line.rstrip(",") for line in file.read_text(encoding="utf-8").splitlines() if line.startswith("  [")]
        for word in sorted(w for w in places if w[0] == letter):
            shown = [[address, 1, where] for address, where in places[word][:LONGEST_LIST]]
            entries.append("  " + json.dumps([f"{word.replace('-', '_2d')}_word", [word, *shown]], ensure_ascii=False))
        entries.sort(key=lambda entry: re.match(r"\s*\[.(.*?)_[0-9a-z]+.,", entry)[1].lower())
        file.write_text("var searchData=\n[\n" + ",\n".join(entries) + "\n];\n", encoding="utf-8")


def tidy(page):
    text = before = page.read_text(encoding="utf-8")
    if not re.search(r'class="formula|\\\(.+?\\\)', text):  # of a formula within a line Doxygen writes \(x\), without a class
        text = re.sub(r'<script type="text/x-mathjax-config">.*?</script>\s*', "", text, flags=re.DOTALL)
        text = re.sub(r'<script [^>]*MathJax\.js"[^>]*></script>\s*', "", text)
        text = re.sub(r"<script[^>]*>\s*window\.MathJax = .*?</script>\s*", "", text, flags=re.DOTALL)
    summary = re.search(r'<div class="summary">.*?</div>', text, re.DOTALL)
    if summary:
        links = [m for m in re.findall(r'<a href="#([^"]+)">[^<]*</a>', summary[0]) if f'id="{m}"' not in text]
        for name in links:
            kept = re.sub(rf'<a href="#{re.escape(name)}">[^<]*</a>( &#124;\s*)?', "", summary[0])
            text = text.replace(summary[0], kept)
    if text != before:
        page.write_text(text, encoding="utf-8")


def remove_lists_of_members(folder):
    for file in folder.glob("*.html"):
        if re.match(r"(namespacemembers|functions|globals)(_(?!8)[a-z0-9~]+)*\.html$", file.name):
            file.unlink()


def mend_menu(folder):
    for file in folder.glob("[0-9]*.js"):
        text = file.read_text(encoding="utf-8")
        file.write_text(re.sub(r"^var (?=\d)", "var _", text), encoding="utf-8")
    menu = folder / "navtree.js"
    text = menu.read_text(encoding="utf-8")
    menu.write_text(text.replace("eval(n.replace(", "eval(n.replace(/^(?=[0-9])/,'_').replace("), encoding="utf-8")


def mend_mathjax(folder):
    output = folder / "mathjax/jax/output/HTML-CSS/jax.js"
    if output.is_file():
        text = output.read_text(encoding="utf-8")
        output.write_text(text.replace("src:\"url('about:blank')\"", "src:\"local('none')\""), encoding="utf-8")


if __name__ == "__main__":
    pages = pathlib.Path(sys.argv[1])
    remove_lists_of_members(pages)
    for file in pages.glob("*.html"):
        tidy(file)
    mend_menu(pages)
    mend_mathjax(pages)
    add_to_search(pages, words_of_pages(pages))
