#!/usr/bin/env python3
"""The tests of the pages: test_pages.py "the sentence to test" FOLDER; ctest runs each sentence. FOLDER is where the first
of them builds the pages; the others look at what lies there."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.dont_write_bytecode = True
import browser  # noqa: E402
import pages  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 4


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def check(faults, what=""):
    if faults:
        print(f"FAILED: {what}" if what else f"FAILED: {len(faults)} faults")
        print("\n".join(str(fault) for fault in faults[:40]) if not what else faults)
        sys.exit(1)


def expect(condition, what):
    if not condition:
        print(f"FAILED: {what}")
        sys.exit(1)


def open_browser(**options):
    path = browser.find_chromium()
    if not path:
        skip("no Chromium to open the pages with (Debian's package chromium; a snap does not do)")
    return browser.Browser(path, **options)


def built(folder):
    html = pathlib.Path(folder) / "html"
    if not (html / "index.html").is_file():
        skip("the pages were not built")
    return html


def hand_outs(html):
    return sorted(file.name for file in html.glob("lab_*.html"))


def build(folder):
    if not shutil.which("doxygen"):
        skip("no Doxygen to build the pages with (./lab setup --all)")
    for command in (["cmake", "-S", ROOT / "docs", "-B", folder], ["cmake", "--build", folder, "--target", "docs"]):
        run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        expect(run.returncode == 0, f"the pages do not build:\n{run.stdout}")
    expect((pathlib.Path(folder) / "html/index.html").is_file(), "there is no index.html")


def links(folder):
    html = built(folder)
    check(pages.broken(html, pages.read(html)))


def markdown(folder):
    check(pages.literal_markdown(pages.read(built(folder))))


def rung_pages(folder):
    found = pages.read(built(folder))
    labs = [p for p in (ROOT / "labs").glob("[0-9]*/README.md")]
    expect(len(pages.rungs(found)) >= 5 * len(labs), f"only these rungs are listed: {pages.rungs(found)}")
    check(pages.order_of_rungs(found))


def variants(folder):
    html, linked = built(folder), 0
    sys.path.insert(0, str(ROOT / "docs"))
    from page import Page
    for readme in sorted((ROOT / "labs").glob("[0-9]*/README.md")):
        page = Page(ROOT, readme)
        page.find_variants(page.lab)
        source = (html / f"{page.name}.html").read_text(encoding="utf-8")
        for variant in page.variants:
            if f"`{variant}`" in page.file.read_text(encoding="utf-8"):
                address = re.search(rf'href="([^"]*)"[^>]*>{variant}</a>', source)
                expect(address, f"{page.name}.html: '{variant}' leads nowhere")
                shown = (html / address[1].partition("#")[0]).read_text(encoding="utf-8")
                expect(variant in shown, f"{page.name}.html: '{variant}' leads to {address[1]}, which does not show it")
                linked += 1
    expect(linked >= 20, f"only {linked} variants are linked")


def mathjax(folder):
    found = pages.read(built(folder))
    expect(any('class="formula' in page.source for page in found.values()), "no page has a formula")
    check(pages.needless_mathjax(found))


def opens(folder):
    html = built(folder)
    with open_browser() as chromium:
        chromium.resize(1280, 900)
        check(pages.errors_in_browser(chromium, html, pages.to_open(html)))


def search(folder):
    html = built(folder)
    with open_browser() as chromium:
        chromium.resize(1280, 900)
        chromium.open((html / "index.html").as_uri())
        expect(chromium.wait_for("document.getElementById('MSearchField')"), "there is no search box")
        chromium.run("document.getElementById('MSearchField').focus()")
        chromium.type("coalesced")
        # Doxygen 1.9.4 shows what it found in a frame, later ones in the page itself.
        found = """[document, ...[...document.querySelectorAll('iframe')].map(f => f.contentDocument)]
            .flatMap(d => d ? [...d.querySelectorAll('.SRResult')] : []).filter(e => getComputedStyle(e).display !== 'none')"""
        expect(chromium.wait_for(f"{found}.length"), "the search shows nothing for 'coalesced'")
        addresses = chromium.run(f"{found}.flatMap(e => [...e.querySelectorAll('a')].map(a => a.getAttribute('href')))")
        expect(not chromium.faults, f"the search has errors: {chromium.faults}")
    named = {address.partition("#")[0].rpartition("/")[2] for address in addresses if ".html" in address}
    expect({"kernels.html", *hand_outs(html)} & named, f"'coalesced' leads to no hand-out, only to {sorted(named)}")
    for name in named:
        expect("coalesced" in (html / name).read_text(encoding="utf-8").lower(), f"'coalesced' does not stand in {name}")


def phone(folder):
    html = built(folder)
    titles = [pages.Page(html / name).source.partition("<title>GPU Labs: ")[2].partition("</title>")[0]
              for name in hand_outs(html) if re.fullmatch(r"lab_[a-z0-9]+\.html", name)]
    expect(titles, "there are no hand-outs")
    with open_browser() as chromium:
        chromium.resize(390, 844)
        for name in ["index.html", "kernels.html", *hand_outs(html)]:
            chromium.open((html / name).as_uri())
            width = chromium.run("document.documentElement.scrollWidth")
            expect(width <= 390, f"{name} is {width} pixels wide on a phone of 390")
            chromium.run("(document.querySelector('.main-menu-btn') || document.getElementById('main-menu-state'))?.click()")
            for title in titles:
                link = f"[...document.querySelectorAll('#main-menu a')].find(a => a.innerText.trim() === {title!r})"
                expect(chromium.wait_for(f"{link}.offsetParent && {link}.getBoundingClientRect().height > 0"),
                       f"{name}: the menu does not list '{title}'")


def search_box(folder):
    html = built(folder)
    with open_browser() as chromium:
        for width in (1280, 390):
            chromium.resize(width, 900)
            for name in ("index.html", *hand_outs(html)[:1]):
                chromium.open((html / name).as_uri())
                expect(chromium.wait_for("document.getElementById('MSearchField')?.getBoundingClientRect().width > 60"),
                       f"{name}: no search box at {width} pixels")
                covered = chromium.run("""(() => {
                    const r = document.getElementById('MSearchField').getBoundingClientRect();
                    return [0.02, 0.25, 0.5, 0.75, 0.98].flatMap(u => [0.2, 0.5, 0.8].map(v => [u, v])).filter(([u, v]) => {
                        const e = document.elementFromPoint(r.left + u * r.width, r.top + v * r.height);
                        return !e || !e.closest('#MSearchBox');
                    }); })()""")
                expect(not covered, f"{name} at {width} pixels: something covers the search box at {covered}")


def figures(folder):
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run([sys.executable, ROOT / "docs/figures/draw.py", scratch], check=True)
        drawn = {file.name: file.read_text(encoding="utf-8") for file in pathlib.Path(scratch).glob("*.svg")}
    expect(len(drawn) >= 8, f"draw.py draws only {sorted(drawn)}")
    for name, text in drawn.items():
        kept = ROOT / "docs/figures" / name
        expect(kept.is_file() and kept.read_text(encoding="utf-8") == text, f"{name} is not what draw.py draws: run it again")


def legible(folder):
    faults = []
    for dark in (False, True):
        with open_browser(dark=dark) as chromium:
            chromium.resize(700, 700)
            for figure in sorted((ROOT / "docs/figures").glob("*.svg")):
                faults += [f"{'dark' if dark else 'light'}: {fault}" for fault in pages.illegible(chromium, figure)]
    check(faults)


def site(scratch, body, head=""):
    """A page with a good link, anchor and picture, and what is planted."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=scratch))
    (folder / "good.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 700 90"/>')
    (folder / "index.html").write_text(
        f'<!DOCTYPE html><html><head><meta charset="utf-8"/><title>t</title>{head}</head><body><div class="textblock">'
        '<p id="here">x <code>**p</code> <a href="#here">a</a> <a href="index.html#here">b</a> <img src="good.svg"/></p>'
        f"{body}</div></body></html>", encoding="utf-8")
    return folder


def planted_text(folder):
    with tempfile.TemporaryDirectory() as scratch:
        good = site(scratch, "")
        expect(not pages.broken(good, pages.read(good)), "a good page has broken links")
        expect(not pages.literal_markdown(pages.read(good)), "a good page shows Markdown")
        for body in ('<a href="missing.html">x</a>', '<a href="#nowhere">x</a>', '<a href="index.html#nowhere">x</a>',
                     '<img src="missing.png"/>', '<script src="missing.js"></script>', '<a href="../docs/results">x</a>'):
            bad = site(scratch, body)
            expect(len(pages.broken(bad, pages.read(bad))) == 1, f"not found: {body}")
        for body in ("s**ingle precision", "4*n* bytes", "a [link](to.md)", "see @ref here", "a $x$ b", "Title {#name}"):
            bad = site(scratch, f"<p>{body}</p>")
            expect(len(pages.literal_markdown(pages.read(bad))) == 1, f"not found: {body}")
        about = f'<h2 id="details">What this file is</h2><p>{"word " * 20}</p>'
        code, members = '<div class="fragment">x</div>', '<table class="memberdecls"></table>'
        for parts, faulty in (((about, code, members), False), ((code, about, members), True), ((members, about, code), True),
                              ((about, members, code), True), ((about, members), True), (('<p id="details"></p>', code), True),
                              ((about, code, '<iframe src="a.svg"></iframe>'), True)):
            lab = site(scratch, "")
            (lab / "lab_one.html").write_text('<h2 id="code_one"></h2><a href="01__a_8cu.html">a</a>', encoding="utf-8")
            (lab / "01__a_8cu.html").write_text(f'<div class="contents">{"".join(parts)}</div>', encoding="utf-8")
            found = pages.order_of_rungs(pages.read(lab))
            expect(bool(found) == faulty, f"{'not found' if faulty else 'a fault'}: {parts} {found}")
        bad = site(scratch, "", '<script src="MathJax.js"></script>')
        expect(len(pages.needless_mathjax(pages.read(bad))) == 1, "MathJax without a formula is not found")
        bad = site(scratch, r"For \(n = 1\) it is short.")
        expect(len(pages.needless_mathjax(pages.read(bad))) == 1, "a formula within a line, without MathJax, is not found")


def planted_errors(folder):
    with tempfile.TemporaryDirectory() as scratch, open_browser() as chromium:
        expect(not pages.errors_in_browser(chromium, site(scratch, ""), ["index.html"]), "a good page has errors")
        for body in ("<script>console.error('x')</script>", "<script>undefined_name()</script>", "<script>var 3_a = 1</script>",
                     '<img src="missing.png"/>', '<script src="missing.js"></script>'):
            expect(pages.errors_in_browser(chromium, site(scratch, body), ["index.html"]), f"not found: {body}")
        expect(pages.errors_in_browser(chromium, site(scratch, ""), ["missing.html"]), "a missing page is not found")
        card = '<rect width="700" height="90" style="fill:#fff"/>'
        text = '<text x="{}" y="40" style="font-size:{}px;fill:{}">words that stand here</text>'
        good = text.format(20, 12, "#000")
        for drawn, faulty in ((good, False), (good + text.format(60, 12, "#000"), True), (text.format(640, 12, "#000"), True),
                              (text.format(20, 9, "#000"), True), (text.format(20, 12, "#bbb"), True)):
            figure = pathlib.Path(scratch) / "figure.svg"
            figure.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 700 90">{card}{drawn}</svg>')
            faults = pages.illegible(chromium, figure)
            expect(bool(faults) == faulty, f"{'not found' if faulty else 'a fault'}: {drawn} {faults}")


def converted(folder):
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch).resolve()
        lab = root / "labs/01_one"
        (lab / "cuda").mkdir(parents=True)
        (root / "docs/results").mkdir(parents=True)
        (root / "docs/results/README.md").write_text("# Results\n")
        (root / "docs/results/a.json").write_text("{}")
        (root / "docs/a.svg").write_text("<svg/>")
        (root / "docs/kernels.md").write_text('# Words\n\n- <a name="lane"></a>**Lane**: one\n')
        (lab / "cuda/01_a.cu").write_text("template <class T>\nvoid cuda_a(int) {}\n")
        (lab / "README.md").write_text(
            "# Lab 01: one\n\n## What to expect\n\n4*n* bytes, **s**ingle; *n* and **b** and `*c*`, a * b * c.\n\n"
            "`cuda_a`, a [lane](../../docs/kernels.md#lane), [above](#what-to-expect), [all](../../docs/results),\n"
            "[file](../../docs/results/a.json), [rung](cuda/01_a.cu), [web](https://x.invalid), [gone](gone.md).\n\n"
            "![drawn](../../docs/a.svg)\n\nIt takes $n*m$ steps, $5 in all.\n\n$$\nx * y * z\n$$\n\n    code *a* $b$\n\n"
            "<!-- table\nrows *_a `b\n-->\n| a | b |\n|---|---|\n| c | d |\n<!-- end -->\n\nThe end.\n")
        text = subprocess.run([sys.executable, ROOT / "docs/page.py", root, lab / "README.md"], check=True,
                              stdout=subprocess.PIPE, text=True).stdout
        for wanted in ("# Lab 01: one {#lab_one}", "## What to expect {#lab_one_what-to-expect}", "4<em>n</em> bytes, <b>s</b>ingle;",
                       "<em>n</em> and <b>b</b> and `*c*`, a * b * c.", '@ref labs/01_one/cuda/01_a.cu "cuda_a"',
                       "[lane](@ref kernels_lane)", "[above](@ref lab_one_what-to-expect)", "[all](@ref results)", "\nfile, ",
                       '@ref labs/01_one/cuda/01_a.cu "rung"', "[web](https://x.invalid)", "[gone](gone.md)",
                       '<img src="figures/a.svg" alt="drawn"/>', "takes @f$n*m@f$ steps, $5 in all", "@f[\nx * y * z\n@f]",
                       "    code *a* $b$", '- @ref labs/01_one/cuda/01_a.cu "cuda/01_a.cu"'):
            expect(wanted in text, f"'{wanted}' is not in:\n{text}")
        expect("<!--" not in text and "rows" not in text and "\n\n| a | b |\n" in text and "The end." in text,
               f"a comment in:\n{text}")
        words = subprocess.run([sys.executable, ROOT / "docs/page.py", root, root / "docs/kernels.md"], check=True,
                               stdout=subprocess.PIPE, text=True).stdout
        expect("- @anchor kernels_lane <b>Lane</b>: one" in words, f"no anchor in:\n{words}")


TESTS = {
    "the pages build without a warning": build,
    "no link, picture or script of the pages is broken": links,
    "no page shows Markdown": markdown,
    "the page of a rung begins with what changed, then shows its source": rung_pages,
    "the name of a variant leads to its file": variants,
    "MathJax is loaded where there are formulas": mathjax,
    "every page opens in a browser without an error": opens,
    "the search finds a word of the hand-outs": search,
    "on a phone the menu lists the labs": phone,
    "nothing covers the search box": search_box,
    "the figures are what their script draws": figures,
    "the text of the figures can be read in light and in dark": legible,
    "a planted broken link, picture or mark is found": planted_text,
    "a planted error in the console or in a figure is found": planted_errors,
    "a page is put into the words of Doxygen": converted,
}

if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in TESTS:
        print("usage: test_pages.py SENTENCE FOLDER, with one of:\n" + "\n".join(TESTS))
        sys.exit(2)
    TESTS[sys.argv[1]](sys.argv[2])
