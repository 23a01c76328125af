"""What can be wrong with the pages that Doxygen writes. Each function takes a folder of pages and returns a list of faults."""
import html.parser
import pathlib
import re
import urllib.parse

TEXT = {"textblock", "memdoc", "mdescRight"}  # Doxygen's classes for what people wrote
NOT_TEXT = {"fragment", "formulaInl", "formulaDsp"}
WITHOUT_END = {"img", "br", "hr", "meta", "link", "input", "area", "col", "source", "wbr"}
MARKDOWN = re.compile(r"\*\*|\*\w+\*|`|\]\(|\{#|@ref\b|@anchor\b|[@\\]f[$[]|\$[^$\s][^$]*\$|<a name=")

LISTING = re.compile(r"_source\.html$|-members\.html$")  # pages without text of their own
GENERATED = re.compile(rf"{LISTING.pattern}|_8[a-z]+\.html$|^(class|struct|union|namespace|dir_)")


class Page(html.parser.HTMLParser):
    """One page: its anchors, what it refers to, and its text without code and formulas."""

    def __init__(self, file):
        super().__init__()
        self.source, self.parsed = file.read_text(encoding="utf-8"), False
        self.anchors, self.links, self.parts, self.text, self.open = set(), [], [], [], []

    def parse(self):  # only those that are looked at: it takes a while
        if not self.parsed:
            self.feed(self.source)
            self.parsed = True
        return self

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        classes = set((attributes.get("class") or "").split())
        for key in ("id", "name"):
            if attributes.get(key):
                self.anchors.add(attributes[key])
        if tag in ("a", "area") and attributes.get("href"):
            self.links.append(attributes["href"])
        for key in ("src", "data") + (("href",) if tag == "link" else ()):
            if attributes.get(key):
                self.parts.append(attributes[key])
        if tag not in WITHOUT_END:
            kind = "yes" if classes & TEXT else "no" if classes & NOT_TEXT or tag in ("code", "pre", "script", "style") else ""
            self.open.append((tag, kind))

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in WITHOUT_END:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        names = [name for name, _ in self.open]
        if tag in names:  # what is not closed inside it ends with it
            del self.open[len(names) - 1 - names[::-1].index(tag):]

    def handle_data(self, data):
        kinds = [kind for _, kind in self.open if kind]
        if "no" not in kinds and "yes" in kinds:
            self.text.append(data)


def read(folder):
    return {file.name: Page(file) for file in sorted(pathlib.Path(folder).glob("*.html"))}


def broken(folder, pages):
    """Links, anchors, pictures, scripts and styles that lead nowhere."""
    folder, faults = pathlib.Path(folder), []
    for name, page in pages.items():
        page.parse()
        for target in page.links + page.parts:
            if re.match(r"(https?|mailto|javascript|data|about):", target):
                continue
            path, _, anchor = target.partition("#")
            path, anchor = urllib.parse.unquote(path), urllib.parse.unquote(anchor)
            if path and not (folder / path).is_file():
                faults.append(f"{name}: no file {target}")
            elif anchor and (path or name) in pages and anchor not in pages[path or name].parse().anchors:
                faults.append(f"{name}: no place {target}")
    return faults


def literal_markdown(pages):
    """Marks of Markdown or Doxygen that show in the text."""
    faults = []
    for name, page in pages.items():
        for text in [] if LISTING.search(name) else page.parse().text:
            found = MARKDOWN.search(text)
            if found:
                faults.append(f"{name}: '{found[0]}' in: {' '.join(text.split())[:120]}")
    return faults


def rungs(pages):
    """The pages of the files that the hand-outs list under "In the code"."""
    names = set()
    for name, page in pages.items():
        if re.fullmatch(r"lab_[a-z0-9]+\.html", name):
            _, _, listed = page.source.partition('id="code_')
            names.update(re.findall(r'href="([^"#]+_8(?:cu|cuh|cl|cpp|hpp)\.html)"', listed))
    return sorted(names)


def order_of_rungs(pages):
    """A rung's page begins with what changed and why; then comes its source. No graph."""
    faults = []
    for name in rungs(pages):
        source = pages[name].source
        contents = source[source.find('<div class="contents">'):]
        about, code = contents.find('id="details"'), contents.find('class="fragment"')
        members = contents.find('class="memberdecls"')
        if not 0 <= about < code or -1 < members < code:
            faults.append(f"{name}: not first the description, then the source, then the rest")
        elif len(re.sub("<[^>]*>", "", contents[about:code]).split()) < 12:
            faults.append(f"{name}: hardly a word before the source")
        if re.search(r"<iframe[^>]*svg|dyncontent", contents):
            faults.append(f"{name}: has a graph")
    return faults


def has_formula(source):
    return bool(re.search(r'class="formula|\\\(.+?\\\)', source))  # a line of its own, or \(x\) within a line


def needless_mathjax(pages):
    """Pages that load MathJax without a formula, or have a formula without it."""
    return [f"{name}: {'loads' if loads else 'does not load'} MathJax" for name, page in pages.items()
            if (loads := "MathJax.js" in page.source) != has_formula(page.source)]


def to_open(folder):
    """What a browser has to open: every page that we wrote and every page with a formula. Doxygen makes the others from its own
    templates and scripts, so an error of one is an error of its kind: one in twenty of each kind is opened."""
    ours, kinds = [], {}
    for file in sorted(pathlib.Path(folder).glob("*.html")):
        kind = GENERATED.search(file.name)
        if kind and not has_formula(file.read_text(encoding="utf-8")):
            kinds.setdefault(kind[0], []).append(file.name)
        else:
            ours.append(file.name)
    return ours + [name for names in kinds.values() for name in names[::20]]


def errors_in_browser(browser, folder, names):
    """What the console and the network say while the pages are loaded."""
    faults = []
    for name in names:
        file = pathlib.Path(folder).resolve() / name
        browser.open(file.as_uri())
        browser.run("document.readyState")  # answered after what the page reported
        if file.is_file() and has_formula(file.read_text(encoding="utf-8")):
            if browser.wait_for("document.querySelector('.MathJax')", 30):
                browser.run("new Promise(done => MathJax.Hub.Queue(done))")  # until all are set
            else:
                browser.faults.append("MathJax sets no formula")
        faults += [f"{name}: {fault}" for fault in browser.faults]
    return faults


# Pairs of texts that overlap, texts that leave the figure, are too small, or differ too little from what is behind them.
LEGIBLE = """(() => {
    const svg = document.documentElement, faults = [], scale = 700 / svg.viewBox.baseVal.width;
    const rgb = css => css.match(/[\\d.]+/g).slice(0, 3).map(Number);
    const light = c => { const [r, g, b] = rgb(c).map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
                         return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
    const all = [...svg.querySelectorAll('rect, text')], frame = svg.viewBox.baseVal, texts = [];
    all.forEach((element, at) => {
        if (element.tagName !== 'text') return;
        const b = element.getBBox(), words = element.textContent;
        if (b.x < 4 || b.y < 2 || b.x + b.width > frame.width - 4 || b.y + b.height > frame.height - 2)
            faults.push(`leaves the figure: ${words}`);
        if (parseFloat(getComputedStyle(element).fontSize) * scale < 11) faults.push(`too small: ${words}`);
        const x = b.x + b.width / 2, y = b.y + b.height / 2;
        const behind = all.slice(0, at).filter(r => r.tagName === 'rect').filter(r => { const q = r.getBBox();
            return q.x <= x && x <= q.x + q.width && q.y <= y && y <= q.y + q.height; }).pop();
        if (!behind) faults.push(`nothing behind: ${words}`);
        else {
            const a = light(getComputedStyle(element).fill), c = light(getComputedStyle(behind).fill);
            if ((Math.max(a, c) + 0.05) / (Math.min(a, c) + 0.05) < 4.5) faults.push(`hard to read: ${words}`);
            const q = behind.getBBox();
            if (b.x < q.x || b.x + b.width > q.x + q.width) faults.push(`wider than its box: ${words}`);
        }
        texts.push([b, words]);
    });
    const slack = 1.5; // lines of text stand close
    texts.forEach(([a, one], i) => texts.slice(i + 1).forEach(([b, other]) => {
        if (a.x + slack < b.x + b.width && b.x + slack < a.x + a.width && a.y + slack < b.y + b.height && b.y + slack < a.y + a.height)
            faults.push(`overlap: ${one} | ${other}`);
    }));
    return faults;
})()"""


def illegible(browser, figure):
    browser.open(pathlib.Path(figure).resolve().as_uri())
    return [f"{pathlib.Path(figure).name}: {fault}" for fault in browser.faults + browser.run(LEGIBLE)]
