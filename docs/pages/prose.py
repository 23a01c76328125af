"""Markdown pages, as a code host shows them, in HTML. Pandoc reads them all in one run and writes them all in a second; in between
their links are led to the pages' own addresses, and the tables are read for the pages of the rungs."""

import json
import os
import re
import subprocess
from html import escape

from listings import code_block
from repository import slug

MARK = "page-mark-7c1e:"


class Fault(Exception):
    """What is wrong with a page, in one line."""


def pandoc(text, *arguments):
    try:
        return subprocess.run(["pandoc", *arguments], input=text, stdout=subprocess.PIPE, check=True, text=True).stdout
    except FileNotFoundError:
        raise Fault("pandoc is not installed") from None
    except subprocess.CalledProcessError as error:
        raise Fault(f"pandoc ended with exit code {error.returncode}") from None


def plain(one):
    """The words of an element, or of a list of elements."""
    if isinstance(one, list):
        return "".join(map(plain, one))
    kind, content = one["t"], one.get("c")
    if kind in ("RawInline", "Image"):
        return ""
    if kind in ("Str", "Code", "Math"):
        return content if kind == "Str" else content[1]
    return " " if content is None else plain(content[1] if kind in ("Link", "Span") else content)


def item_anchor(text, item):
    """The place of a text's item in the concordance."""
    return re.sub(r"[^a-z0-9]+", "-", f"{text} {item}".lower())


def raw(text):
    return {"t": "RawBlock", "c": ["html", text]}


def table(label, heads, rows):
    """A table in HTML, of cells in HTML, in a frame that scrolls by itself."""
    head, body = "".join(f"<th>{one}</th>" for one in heads), "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return (f'<div class="wide" tabindex="0" role="group" aria-label="{escape(label)}"><table><thead><tr>{head}</tr></thead>'
            f"<tbody>{body}</tbody></table></div>")


def link(inlines, address):
    return {"t": "Link", "c": [["", [], []], inlines, [address, ""]]}


class Page:
    """One page: its blocks, and what was found in them."""

    def __init__(self, repository, path):
        self.repository, self.path, self.address = repository, path, repository.pages[path]
        self.lab = repository.lab_of(path)
        self.about = None  # the lab of the section that is read: headings of docs/formulas.md begin with its folder
        self.blocks, self.title, self.sections = [], "", []  # sections: (level, anchor, title)
        self.opening = []  # the first paragraph: of MEASURED.md, what was measured on which device
        self.measured = []  # rows of tables: (variant, anchor, title of the section, paragraph above the table, heads, cells)

    def fault(self, words):
        return Fault(f"{self.path}: {words}")

    def target(self, url):
        """Where a link leads, or nothing if what it names has no page."""
        if re.match(r"[a-z]+:", url):
            return url
        path, _, anchor = url.partition("#")
        if not path:
            return f"{self.address}#{anchor}"
        below = os.path.normpath(os.path.join(os.path.dirname(self.path), path))
        if below.startswith(".."):
            raise self.fault(f"the link {url} leads out of the repository")
        file = self.repository.root / below
        if (file / "README.md").is_file():
            below += "/README.md"
        if below in self.repository.pages:
            return self.repository.pages[below] + (f"#{anchor}" if anchor else "")
        if not file.exists() and not re.match(r"labs/", below):  # a lab may be missing in a checkout
            raise self.fault(f"the link {url} leads to no file")
        return None

    def read(self, blocks):
        section, seen = ("", ""), {}
        for block in blocks:
            kind, content = block["t"], block.get("c")
            if kind == "RawBlock" and content[1].startswith("<!--"):
                continue
            if kind == "Header":
                level, title = content[0], plain(content[2])
                anchor = slug(title)
                seen[anchor] = seen.get(anchor, -1) + 1
                anchor += f"-{seen[anchor]}" if seen[anchor] else ""
                content[1] = [anchor, [], []]
                if level == 1 and not self.title:
                    self.title = title
                    continue  # the page's frame has it
                if level == 2:
                    self.about = self.repository.lab_of(f"labs/{title.partition(':')[0]}/")
                section = (anchor, title)
                self.sections.append((level, anchor, title))
            if kind == "Table":
                self.read_table(content, section)
            self.blocks += self.blocks_for(block)
            if kind == "Para" and not self.opening:
                self.opening = self.blocks[-1:]

    def read_table(self, content, section):
        heads = [cell[4] for row in content[3][1] for cell in row[1]]
        above = [one for one in self.blocks[-1:] if one["t"] == "Para"]
        for body in content[4]:
            for row in body[3]:
                if self.path == "docs/concordance.md":
                    row[1][0][0][0] = item_anchor(section[0], plain(row[1][0][4]))
                cells = [cell[4] for cell in row[1]]
                first = plain(cells[0]) if cells else ""
                if self.lab and first in self.lab.by_name:
                    self.measured.append((first, *section, above, heads, cells))

    def blocks_for(self, block):
        kind, content = block["t"], block.get("c")
        if kind == "CodeBlock":
            return [raw(code_block(content[1], content[0][1][0] if content[0][1] else ""))]
        if kind == "Table":
            for row in [*content[3][1], *(row for body in content[4] for row in body[3])]:
                for cell in row[1]:
                    if len(plain(cell[4])) <= 16:
                        cell[0][1].append("short")  # such a cell is not worth a second line
        block = {**block, "c": self.within(content)} if content is not None else block
        if kind == "Table":
            label = escape(f"table: {self.sections[-1][2] if self.sections else self.title}")
            return [raw(f'<div class="wide" tabindex="0" role="group" aria-label="{label}">'), block, raw("</div>")]
        return [block]

    def within(self, content):
        """The same lists of elements, with links and names changed, at any depth."""
        if not isinstance(content, list):
            return content
        return [new for one in content for new in (self.element(one) if isinstance(one, dict) and "t" in one else [self.within(one)])]

    def element(self, one):
        kind, content = one["t"], one.get("c")
        if kind in ("CodeBlock", "Table"):
            return self.blocks_for(one)
        if kind == "Link":
            target = self.target(content[2][0])
            return [link(content[1], target)] if target else content[1]
        if kind == "Image":
            name, words = content[2][0].rpartition("/")[2], escape(plain(content[1]), quote=True)
            if name not in self.repository.pictures:
                raise self.fault(f"there is no picture {content[2][0]}")
            return [{"t": "RawInline", "c": ["html", f'<a class="picture" href="figures/{name}"><img src="figures/{name}" alt="{words}"></a>']}]
        if kind == "Code":
            rung = getattr(self.lab or self.about, "by_name", {}).get(content[1]) or self.repository.unique.get(content[1])
            return [link([one], rung.page)] if rung else [one]
        if kind == "Str" and self.lab:
            rung, path = self.lab.by_name.get(content), f"labs/{self.lab.folder.name}/{content}"
            page = rung.page if rung else self.repository.pages.get(path) if "/" in content else None
            if page:
                return [link([one], page)]
        if kind == "Str" and "gpulab::" in content:
            before, name, after = re.match(r"(.*?)(gpulab::(?:\w+::)*\w+)(.*)", content).groups()
            if name not in self.repository.api_names:
                raise self.fault(f"the API has no {name}")
            code = {"t": "Code", "c": [["", [], []], name]}
            return [{"t": "Str", "c": before}, link([code], self.repository.api_names[name]), {"t": "Str", "c": after}]
        return [{**one, "c": self.within(content)}] if content is not None else [one]


def read_all(repository):
    """The Markdown pages, in the order of their paths."""
    joined = []
    for path in repository.prose():
        text = (repository.root / path).read_text(encoding="utf-8")
        text = re.sub(r"^<!--.*?-->[ \t]*\n", "", text, flags=re.MULTILINE | re.DOTALL)
        if path in ("README.md", "docs/formulas.md"):
            text = without_missing_labs(repository, text)
        joined.append(f"<!--{MARK}{path}-->\n\n{text}\n\n")
    content = json.loads(pandoc("".join(joined), "-f", "gfm+tex_math_dollars", "-t", "json", "--columns=100000"))
    repository.pandoc_version = content["pandoc-api-version"]
    pages, blocks = {}, None
    for block in content["blocks"]:
        mark = re.match(rf"<!--{MARK}(.*)-->", block["c"][1]) if block["t"] == "RawBlock" else None
        if mark:
            pages[mark[1]] = blocks = []
        else:
            blocks.append(block)
    found = {}
    for path, blocks in pages.items():
        found[path] = Page(repository, path)
        found[path].read(blocks)
        if not found[path].title:
            raise Fault(f"{path}: it does not begin with a heading")
    return found


def without_missing_labs(repository, text):
    """Without the rows and the sections of labs that this checkout has not; what stands under headings of their own stays."""
    has = {lab.folder.name for lab in repository.labs}
    sections = [one for one in re.split(r"^(?=###? )", text, flags=re.MULTILINE)
                if not (name := re.match(r"## (\d\d_\w+)", one)) or name[1] in has]
    return "".join(line for line in "".join(sections).splitlines(keepends=True)
                   if not (row := re.match(r"\| \d\d \| \[\w+\]\(labs/(\w+)/", line)) or row[1] in has)


def write_all(repository, bodies):
    """{address: blocks} as {address: HTML}."""
    addresses, blocks = list(bodies), []
    for number, address in enumerate(addresses):
        blocks += [raw(f"<!--{MARK}{number}-->"), *bodies[address]]
    content = {"pandoc-api-version": repository.pandoc_version, "meta": {}, "blocks": blocks}
    text = pandoc(json.dumps(content), "-f", "json", "-t", "html5", "--mathml", "--wrap=none", "--no-highlight")
    text = re.sub(r"<th([^>]*)></th>", r"<td\1></td>", text).replace('<a name="', '<a id="')  # an empty head is none
    text = re.sub(r'<math display="block".*?</math>', r'<span class="formula" tabindex="0" role="group" aria-label="formula">\g<0></span>', text,
                  flags=re.DOTALL)
    parts = re.split(rf"<!--{MARK}(\d+)-->\n?", text)
    return {addresses[int(number)]: html for number, html in zip(parts[1::2], parts[2::2])}
