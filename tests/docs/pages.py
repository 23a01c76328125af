"""What can be wrong with the pages. Each function returns a list of faults; `pages` is {name: HTML}."""
import html
import json
import pathlib
import re
from xml.etree import ElementTree

MARKDOWN = re.compile(r"\*\*|\*\w+\*|`|\]\(|\{#|@ref\b|@anchor\b|[@\\]f[$[]|\$[^$\s][^$]*\$|<a name=")


def read(folder):
    return {file.name: file.read_text(encoding="utf-8") for file in sorted(pathlib.Path(folder).glob("*.html"))}


def literal_markdown(pages):
    """Marks of Markdown, TeX or Doxygen that show in the text."""
    faults = []
    for name, page in pages.items():
        article = page.partition("<article>")[2].partition("</article>")[0]
        for text in re.split("<[^>]*>", re.sub(r"(?s)<(code|pre|script|style|math)\b.*?</\1>", "<>", article)):
            found = MARKDOWN.search(html.unescape(text))
            if found:
                faults.append(f"{name}: '{found[0]}' in: {' '.join(text.split())[:120]}")
    return faults


LISTING = re.compile(r'<div class="listing[^"]*"><pre[^>]*><code>(.*?)</code></pre></div>', re.DOTALL)
LINK = re.compile(r'(#include (?:<[^>]*>)*(?:&quot;|")?)?<a href="([^"]*)"[^>]*>([^<]*)</a>')


def doxygen_knows(tag):
    """{address: name or path}, by Doxygen's tag file."""
    out = {}
    for compound in ElementTree.parse(tag).getroot():
        name, page = compound.findtext("name"), compound.findtext("filename").removesuffix(".html") + ".html"
        out[page] = compound.findtext("path") + name if compound.get("kind") == "file" else name
        for member in compound.findall("member"):
            out[f"{member.findtext('anchorfile').removesuffix('.html')}.html#{member.findtext('anchor')}"] = f"{name}::{member.findtext('name')}"
            for value in member.findall("enumvalue"):
                out[f"{value.get('file').removesuffix('.html')}.html#{value.get('anchor')}"] = f"{name}::{member.findtext('name')}::{value.text}"
    return out


def wrong_links(listings, known, root):
    """The number of links in listings (path, HTML), and those that do not lead to what their words name: the included file that the compiler
    finds, or a name in gpulab. `known`: what is where."""
    count, faults = 0, []
    for path, listing in listings:
        lab = "/".join(path.split("/")[:2])
        for include, address, words in LINK.findall(listing):
            count += 1
            words, to = html.unescape(words), re.sub(r"::anonymous_namespace{[^}]*}", "", known.get(address, ""))
            if include or words[0] in '"<':
                words = words.strip('"<>')
                folders = [root / folder for folder in (path.rpartition("/")[0], lab, "common/include", "tests/support", "labs")]
                file = next((folder / name for folder in folders for name in (words, words.removesuffix(".hpp")) if (folder / name).is_file()), None)
                right = file and pathlib.Path(root / to).resolve() == file.resolve()
            else:
                right = to.partition("<")[0] == words.partition("<")[0] and to.startswith("gpulab::")
            if not right:
                faults.append(f"{path}: {words} leads to {address}, which is {to}")
    return count, faults


def faults_in(browser, folder, names, script="[]"):
    """What the console and the network say while the pages are loaded, and what a script finds in each."""
    faults = []
    for name in names:
        browser.open((pathlib.Path(folder).resolve() / name).as_uri())
        found = browser.run(script)  # answered after what the page reported
        faults += [f"{name}: {fault}" for fault in [*browser.faults, *found]]
    return faults


def barriers(axe, rules=None, without=()):
    """The script for what axe, the checker of accessibility, finds by these rules or by all without some. `axe`: its text, or nothing."""
    options = json.dumps({"resultTypes": ["violations"], "rules": {rule: {"enabled": False} for rule in without},
                          **({"runOnly": rules} if rules else {})})
    return (f"{axe}; axe.run(document, {options}).then(r => r.violations.map(v => "
            "`${v.id}: ${v.nodes.length} times, such as ${v.nodes[0].html.slice(0, 150)}`))") if axe else "[]"


# What is wider than the window although it does not scroll by itself: the page scrolls sideways then, whatever its root element says.
TOO_WIDE = """(limit => {
    scrollTo(10000, 0);
    return [scrollX && limit + scrollX, document.body.scrollWidth].filter(w => w > limit).map(w => `${w} pixels wide in a window of ${limit}`);
})(document.documentElement.clientWidth)"""


# Pairs of texts that overlap, texts that leave the figure, are too small, or differ too little from what is behind them.
LEGIBLE = """(() => {
    const svg = document.documentElement, faults = [], scale = 700 / svg.viewBox.baseVal.width;
    const light = css => css.match(/[\\d.]+/g).slice(0, 3).map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + [0.2126, 0.7152, 0.0722][i] * v, 0.05);
    const all = [...svg.querySelectorAll('rect, text')], frame = svg.viewBox.baseVal, texts = [];
    all.forEach((element, at) => {
        if (element.tagName !== 'text') return;
        const b = element.getBBox(), x = b.x + b.width / 2, y = b.y + b.height / 2, style = getComputedStyle(element);
        const words = element.textContent, told = (bad, what) => bad && faults.push(`${what}: ${words}`);
        told(b.x < 4 || b.y < 2 || b.x + b.width > frame.width - 4 || b.y + b.height > frame.height - 2, 'leaves the figure');
        told(parseFloat(style.fontSize) * scale < 11, 'too small');
        const behind = all.slice(0, at).filter(r => r.tagName === 'rect').map(r => [r, r.getBBox()]).filter(([, q]) =>
            q.x <= x && x <= q.x + q.width && q.y <= y && y <= q.y + q.height).pop();
        told(!behind, 'nothing behind');
        if (behind) {
            const [high, low] = [style, getComputedStyle(behind[0])].map(s => light(s.fill)).sort((a, b) => b - a), q = behind[1];
            told(high / low < 4.5, 'hard to read');
            told(b.x < q.x || b.x + b.width > q.x + q.width, 'wider than its box');
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
