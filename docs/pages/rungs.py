"""The pages of the rungs, and of the list of a lab's rungs."""

import os
import re
import runpy
from html import escape

from listings import opening
from prose import item_anchor, plain, raw, table
from repository import BACK_ENDS, WORD, slug

FINDERS = {"large": "large sizes", "schedule": "a perturbed schedule of commands, blocks or threads"}
# Words of docs/kernels.md that mean the same in every comment of a rung for GPUs: anchor, and what stands in the text.
WORDS = {anchor: anchor.replace("-", "[ -]") + "s?" for anchor in
         ("warp", "lane", "multiprocessor", "divergence", "occupancy", "register", "sector", "coalesced", "cache-line", "pageable", "barrier",
          "atomic", "shuffle", "latency", "in-flight", "shared-memory", "global-memory", "prefix-sum", "false-sharing", "halo")}
WORDS.update({"bank": "banks?|bank conflicts?", "thread": "work-items?", "block": "work-groups?", "memory-bound": "memory-bound",
              "unroll": "unroll(s|ed)?", "shared-memory": "(shared|local) memory", "mapped": "mapped (host )?memory"})


# An item of a list, a drawing (lines that are set in, or have a gap), or a paragraph, of which "Changed: " and "Limit: " begin one.
PART = re.compile(r"^ {0,2}(- |\d+\. )(?!.*   )(.*(?:\n +(?!- |\d+\. )\S.*)*)|((?:^(?:   | .*\S   ).*\n?)+)|"
                  r"^((?:Changed|Limit)[^:.\n]*:)?(.+(?:\n(?! *(?:- |\d+\. )|   |(?:Changed|Limit)[^:.\n]*:).+)*)", re.MULTILINE)


def comment_html(repository, lab, text, words=()):
    """An opening comment in HTML: paragraphs, lists, drawings, code in backquotes, names of rungs and files as links, and the first use of
    each of these words of docs/kernels.md."""
    words, html = {anchor: WORDS[anchor] for anchor in words}, ""
    for mark, item, drawing, begin, paragraph in PART.findall(text):
        line = inline(repository, lab, re.sub(r"\s*\n\s*", " ", (item or paragraph).strip()), words)
        if mark:
            html += f"<ul><li>{line}</li></ul>" if mark == "- " else f"<ol><li>{line}</li></ol>"
        elif drawing:
            html += f'<pre tabindex="0" role="group" aria-label="drawing"><code>{escape(drawing.rstrip())}</code></pre>'
        else:
            html += f"<p>{begin and f'<strong>{begin}</strong> '}{line}</p>"
    return re.sub("</([ou]l)><\\1>", "", html)


def inline(repository, lab, text, words=None):
    """A line of text in HTML. What is linked of `words` is taken out of it."""
    parts = text.split("`")
    for i, part in enumerate(parts):
        parts[i] = named(repository, lab, escape(part, quote=False))
        parts[i] = f"<code>{re.sub('</?code>', '', parts[i])}</code>" if i % 2 else explained(parts[i], words or {})
    return re.sub(r"(?<![\w*/])\*(\w[\w -]*)\*(?![\w*/])", r"<em>\1</em>", "".join(parts))


def named(repository, lab, html):
    """With links at the names of rungs and of the lab's files; other names of code are set as such."""
    def link(match):
        rung = lab.by_name.get(match[0])
        file = repository.files_of(lab).get(match[0].rpartition("/")[2])
        page = rung.page if rung else repository.pages[file] if file and file.endswith(match[0]) else None
        return f'<a href="{page}">{match[0]}</a>' if page else f"<code>{match[0]}</code>" if "_" in match[0] else match[0]
    return re.sub(r"(?<![\w./:-])[\w/]+\.(?:cuh?|cl|[ch]pp)\b|(?<![\w./:&-])(?:\w+::)*(?:\w{3,}_\w+|\w*_\w\w+)(?:\(\w*\))?(?![\w.]\w)",
                  link, html)


def explained(html, words):
    """With a link at the first use of each word, outside of links and code."""
    parts = re.split(r"(<(a|code)\b.*?</\2>)", html)
    for i in range(0, len(parts), 3):
        for anchor in [*words]:
            use = re.search(rf"(?<![\w<>-])(?:{words[anchor]})(?![\w<>-])", parts[i], re.IGNORECASE)
            if use and not re.search(r"<a [^>]*>[^<]*$", parts[i][:use.start()]):
                parts[i] = f'{parts[i][:use.start()]}<a href="kernels.html#{anchor}">{use[0]}</a>{parts[i][use.end():]}'
                del words[anchor]
        parts[i + 2:i + 3] = [""] * len(parts[i + 2:i + 3])
    return "".join(parts)


def link_to(rung):
    return f'<a href="{rung.page}"><code>{rung.name}</code></a>'


class Rungs:
    def __init__(self, repository, pages, listings):
        self.repository, self.pages, self.listings = repository, pages, listings
        self.comments = {rung: opening((repository.root / rung.file).read_text(encoding="utf-8"))[0] for rung in repository.rungs}
        kernels = repository.root / "docs/kernels.md"
        defined = WORD.findall(kernels.read_text(encoding="utf-8") if kernels.is_file() else "")
        self.words = [anchor for anchor in WORDS if anchor in defined]
        self.counterparts = {rung: [] for rung in repository.rungs}
        for rung in repository.rungs:
            for name in re.findall(r"counterpart of ((?:\w+_\w+(?:, | and )?)+)", self.comments[rung].replace("\n", " ")):
                for one in re.findall(r"(?:cpu|cuda|opencl)_\w+", name):
                    self.pair(rung, rung.lab.by_name.get(one))
            for other in rung.lab.twins(rung):
                self.pair(rung, other)
        self.items = items_of_texts(repository)
        self.formulas = {lab.name: self.formulas_of(lab) for lab in repository.labs}

    def pair(self, one, other):
        if other and one.back_end != other.back_end:
            for a, b in ((one, other), (other, one)):
                if b not in self.counterparts[a]:
                    self.counterparts[a].append(b)

    def formulas_of(self, lab):
        """The section of docs/formulas.md of a lab, as (its paragraphs from a formula on to one, and on while the sentence does, names of
        rungs in that one)."""
        page = self.pages.get("docs/formulas.md")
        inside, held, open_ended, out = False, [], False, []
        for block in page.blocks if page else []:
            if block["t"] == "Header":
                inside, held = plain(block["c"][2]).startswith(lab.folder.name + ":"), []
            elif inside and block["t"] == "Para":
                text = plain(block["c"])
                display = any(one["t"] == "Math" and one["c"][0]["t"] == "DisplayMath" for one in block["c"])
                names = re.findall(r"\b(?:cpu|cuda|opencl)_[a-z0-9_]+", text)
                if display:
                    held = [block]
                if open_ended:
                    out[-1][0].append(block)
                    out[-1][1].extend(names)
                elif names or not display:
                    out.append(([*([] if display else held), block], names))
                open_ended = bool(out) and not re.search(r"[.:]$", text)
        return out

    def formula(self, rung):
        of_lab, blocks = self.formulas[rung.lab.name], []
        names = {one.name for one in self.counterparts[rung]}
        for some, _ in [one for one in of_lab if rung.name in one[1]] or [one for one in of_lab if names & {*one[1]}] or of_lab[:1]:
            blocks += [one for one in some if one not in blocks]
        return blocks

    def measured(self, rung):
        """The rows of the lab's tables that are this rung's, each with the heads of its table."""
        blocks = []
        for name in ("README", "MEASURED"):
            page = self.pages.get(f"labs/{rung.lab.folder.name}/{name}.md")
            opening = page.opening if name == "MEASURED" and page else []
            for variant, anchor, title, above, heads, cells in page.measured if page else []:
                if variant != rung.name or not re.search(r"\d", plain(cells[1:])) or {"file", "what changed"} & {*map(plain, heads)}:
                    continue
                place = f"{page.address}#{anchor}" if anchor else page.address
                words = f'{"Hand-out" if name == "README" else "Measured"}: {title}'
                blocks += [*opening, raw(f'<p class="row-title"><a href="{place}">{escape(words)}</a></p>'), *above,
                           raw(f'<div class="wide" tabindex="0" role="group" aria-label="{escape(words, quote=True)}">'),
                           small_table(heads[1:], cells[1:]), raw("</div>")]
                opening = []
        return blocks

    def mistakes(self, rung):
        rows = [(f"<code>{escape(row['id'])}</code>", inline(self.repository, rung.lab, row["student"]), escape(found_by(row)))
                for row in rung.mistakes]
        return table(f"mistakes in {rung.name}", ("mistake", "what the rung does then", "found by"), rows) if rows else ""

    def page(self, rung):
        """Blocks, and the sections for the contents list."""
        path, lab = rung.file.as_posix(), rung.lab
        comment = self.comments[rung]
        sections, blocks = [], []

        def section(anchor, title):
            sections.append((2, anchor, re.sub("</?code>", "", title)))
            blocks.append(raw(f'<h2 id="{anchor}">{title}</h2>'))

        others = ", ".join(map(link_to, self.counterparts[rung]))
        other = {"cuda": "OpenCL", "opencl": "CUDA"}.get(rung.back_end) if not rung.baseline else None
        others = f'<p class="about">{f"Counterpart: {others}" if others else f"No counterpart in {other}."}</p>' if others or other else ""
        summary = "" if rung.summary.lower() in comment.replace("\n", " ").lower() else rung.summary[:1].upper() + rung.summary[1:] + "."
        summary = f'<p class="lead">{inline(self.repository, lab, summary)}</p>' if summary else ""
        blocks.append(raw(f'<p class="about"><a href="lab_{lab.name}.html">{escape(lab.title)}</a> · '
                          f'<a href="lab_{lab.name}_rungs.html">{rung.place}</a> · '
                          f'<a href="{self.repository.api_files[path]}"><code>{path.removeprefix("labs/")}</code></a></p>'
                          f"{others}{summary}"))
        section("what-changed", "What changed, and what limits it")
        blocks.append(raw(comment_html(self.repository, lab, comment, self.words if rung.back_end != "cpu" else ())))
        formula = self.formula(rung)
        if formula:
            section("formula", "Formula")
            blocks += formula
            anchor = next(anchor for _, anchor, title in self.pages["docs/formulas.md"].sections if title.startswith(lab.folder.name))
            blocks.append(raw(f'<p><a href="formulas.html#{anchor}">All formulas of the lab</a></p>'))
        partners = [one for one in self.counterparts[rung] if "cpu" not in (one.back_end, rung.back_end)]
        if partners:
            section("kernel", "The kernel in CUDA and in OpenCL")
            both = sorted([rung, *partners[:1]], key=lambda one: one.back_end)
            columns = "".join(f"<div><p>{BACK_ENDS[one.back_end]}: {link_to(one) if one is not rung else f'<code>{one.name}</code>'}"
                              f"</p>{self.listings.kernels(one.kernel_file.as_posix())}</div>" for one in both)
            blocks.append(raw(f'<div class="side-by-side">{columns}</div>'))
        else:
            section("source", "Source")
            blocks.append(raw(self.source(rung)))
        if rung.before:
            section("difference", f"Difference from <code>{rung.before.name}</code>")
            files = [(rung.before.kernel_file, rung.kernel_file)] if rung.kernel_file != rung.file else []
            for before, after in [*files, (rung.before.file, rung.file)]:
                if before == after or before.suffix != after.suffix:
                    blocks.append(raw("<p>Both stand in this file.</p>" if before == after else ""))
                    continue
                html, came, gone = self.listings.difference(before.as_posix(), after.as_posix())
                blocks.append(raw(f"<details><summary><code>{before.name}</code> → <code>{after.name}</code>: {came} lines added, "
                                  f"{gone} removed</summary>{html}</details>"))
        measured = self.measured(rung)
        if measured:
            section("measured", "Measured")
            blocks += measured
        section("tests", "Tests, and mistakes that they reject")
        blocks.append(raw(f"<p><code>./lab test {lab.name} --variant {rung.name}</code> builds this rung and runs its tests. "
                          + ("These mistakes have been planted in it:</p>" if rung.mistakes else "No mistake of its own is planted in "
                             "it; those of the rungs that share its code are.</p>") + self.mistakes(rung)))
        items = self.items.get(f"{lab.name} {rung.name}", [])
        if items:
            section("source-texts", "In the texts")
            listed = "".join(f'<li><a href="concordance.html#{item_anchor(slug(text), key)}">{escape(text)}, {escape(key)}</a>: '
                             f"{escape(what)}{faults}</li>" for text, key, what, faults in items)
            blocks.append(raw(f"<ul>{listed}</ul>"))
        if partners:
            section("source", "The whole source")
            blocks.append(raw(self.source(rung)))
        return blocks, sections

    def source(self, rung):
        """The listings of a rung: kernel and host where they are two files."""
        path, kernel = rung.file.as_posix(), rung.kernel_file.as_posix()
        html = ""
        if kernel != path:
            note = opening((self.repository.root / kernel).read_text(encoding="utf-8"))[0]
            html = (f"<p>The kernel, <code>{kernel.rpartition('/')[2]}</code>:</p>{comment_html(self.repository, rung.lab, note, self.words)}"
                    f"{self.listings.file(kernel)}<p>The host, <code>{path.rpartition('/')[2]}</code>:</p>")
        return html + self.listings.file(path)

    def ladder_page(self, lab):
        blocks, sections = [], []
        for ladder in dict.fromkeys(rung.ladder for rung in lab.rungs):
            title = f"Ladder: {ladder.partition('_')[2].replace('_', ' ')}" if "_" in ladder else "The ladder"
            sections.append((2, ladder, title))
            rows = [(link_to(rung), escape(rung.summary), ", ".join(map(link_to, self.counterparts[rung])))
                    for rung in lab.rungs if rung.ladder == ladder]
            blocks.append(raw(f'<h2 id="{ladder}">{title}</h2>{table(title, ("rung", "what it does", "counterpart"), rows)}'))
        sections.append((2, "files", "Other files of the lab"))
        listed = ""
        for path, address in sorted(self.repository.pages.items()):
            if self.repository.lab_of(path) is lab and address.startswith("api/"):
                text = (self.repository.root / path).read_text(encoding="utf-8")
                about = re.sub("\n///? ?", " ", re.match(r"(?s)(?:/// @file\n)?///? (.*?)[.]\s|", text)[1] or "")
                about = f": {inline(self.repository, lab, about)}" if about else ""
                listed += f'<li><a href="{address}">{path.partition(lab.folder.name + "/")[2]}</a>{about}</li>'
        blocks.append(raw(f'<h2 id="files">Other files of the lab</h2><ul>{listed}</ul>'))
        return blocks, sections


def small_table(heads, cells):
    """A table of one row."""
    none = ["", [], []]
    rows = [[none, [[none, {"t": "AlignDefault"}, 1, 1, cell] for cell in row]] for row in (heads, cells)]
    columns = [[{"t": "AlignRight"}, {"t": "ColWidthDefault"}] for _ in heads]
    return {"t": "Table", "c": [none, [None, []], columns, [none, rows[:1]], [[none, 0, [], rows[1:]]], [none, []]]}


def found_by(row):
    finder = row.get("finder", "wrong values")
    found = FINDERS.get(finder, finder) + (f", check “{row['check']}”" if row.get("check") else "")
    return f"accepted: {row['accepted']}" if row.get("accepted") else found


def items_of_texts(repository):
    """{"lab variant": [(text, item, what it is, links to faults)]}, by tools/concordance."""
    path = str(repository.root / "tools/concordance")
    if not os.path.exists(path):
        return {}
    concordance, out = runpy.run_path(path), {}
    for text in concordance["read_texts"](concordance["Labs"](), []):
        for key, places in text.places.items():
            faults = "".join(f' (<a href="texts_faults.html#{word}">fault in the text</a>)' for word in text.faults[key])
            for place in places:
                out.setdefault(place, []).append((text.name, key, text.items[key]["what"], faults))
    return out
