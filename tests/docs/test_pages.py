"""The tests of the pages: they are built once, in a folder whose name has spaces, and what lies there is looked at."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import browser
import pages
import pytest
from conftest import LABS, ROOT, passed

sys.path.insert(0, str(ROOT / "docs"))
from page import Page  # noqa: E402


@pytest.fixture(scope="module")
def html():
    if not shutil.which("doxygen"):
        pytest.skip("no Doxygen to build the pages with (./lab setup --all)")
    with tempfile.TemporaryDirectory() as scratch:
        copy = pathlib.Path(scratch) / "a folder with 'spaces'"
        copy.mkdir()
        for name in ("README.md", "CONTRIBUTING.md", "LICENSE", "lab", "CMakeLists.txt", "CMakePresets.json"):
            shutil.copy(ROOT / name, copy)
        for name in ("tools", "cmake", "common", "docs", "labs", "tests"):
            shutil.copytree(ROOT / name, copy / name)
        (copy / "answers").mkdir()  # as ./lab instructor unlock makes it
        (copy / "answers/01_saxpy.md").write_text("# Answers: lab 01\n\nunlockedanswer7f3a.\n")
        passed(copy / "lab", "docs", GPULAB_INSTALL="no")
        yield copy / "build/docs/html"


@pytest.fixture(scope="module")
def found(html):
    return pages.read(html)


def test_the_pages_build_without_a_warning_in_a_folder_whose_name_has_spaces(html):
    assert (html / "index.html").is_file()
    assert not [name for name in LABS if not (html / f"lab_{name}.html").is_file()]
    rung = next(html.glob("*vectorised_8cu.html"))
    assert re.search('href="lab_[a-z]*.html', rung.read_text(encoding="utf-8")), f"{rung.name} was not filtered"


def test_no_page_shows_an_unlocked_answer(html):
    pages_of_answers = [file.name for file in html.rglob("*") if file.is_file() and b"unlockedanswer7f3a" in file.read_bytes()]
    assert not pages_of_answers
    assert any(b"leapfrog" in file.read_bytes() for file in html.glob("lab_*.html")), "a word of a hand-out would be found"


@pytest.fixture
def chromium():
    with open_browser() as opened:
        opened.resize(1280, 900)
        yield opened


def open_browser(**options):
    path = browser.find_chromium()
    if not path:
        pytest.skip("no Chromium to open the pages with (Debian's package chromium; a snap does not do)")
    return browser.Browser(path, **options)


def hand_outs(html):
    return sorted(file.name for file in html.glob("lab_*.html"))


def test_no_link_picture_or_script_of_the_pages_is_broken(html, found):
    assert not pages.broken(html, found)


def test_no_page_shows_Markdown(found):
    assert not pages.literal_markdown(found)


def test_the_page_of_a_rung_begins_with_what_changed_then_shows_its_source(found):
    assert len(pages.rungs(found)) >= 5 * len(LABS), f"only these rungs are listed: {pages.rungs(found)}"
    assert not pages.order_of_rungs(found)


def test_the_name_of_a_variant_leads_to_its_file(html):
    linked = 0
    for readme in sorted((ROOT / "labs").glob("[0-9]*/README.md")):
        page = Page(ROOT, readme)
        page.find_variants(page.lab)
        source = (html / f"{page.name}.html").read_text(encoding="utf-8")
        for variant in page.variants:
            if f"`{variant}`" in page.file.read_text(encoding="utf-8"):
                address = re.search(rf'href="([^"]*)"[^>]*>{variant}</a>', source)
                assert address, f"{page.name}.html: '{variant}' leads nowhere"
                shown = (html / address[1].partition("#")[0]).read_text(encoding="utf-8")
                assert variant in shown, f"{page.name}.html: '{variant}' leads to {address[1]}, which does not show it"
                linked += 1
    assert linked >= 20, f"only {linked} variants are linked"


def test_MathJax_is_loaded_where_there_are_formulas(found):
    assert any('class="formula' in page.source for page in found.values()), "no page has a formula"
    assert not pages.needless_mathjax(found)


def test_every_page_opens_in_a_browser_without_an_error(html, chromium):
    assert not pages.errors_in_browser(chromium, html, pages.to_open(html))


def test_the_search_finds_a_word_of_the_hand_outs(html, chromium):
    chromium.open((html / "index.html").as_uri())
    assert chromium.wait_for("document.getElementById('MSearchField')"), "there is no search box"
    chromium.run("document.getElementById('MSearchField').focus()")
    chromium.type("coalesced")
    # Doxygen 1.9.4 shows what it found in a frame, later ones in the page itself.
    found = """[document, ...[...document.querySelectorAll('iframe')].map(f => f.contentDocument)]
        .flatMap(d => d ? [...d.querySelectorAll('.SRResult')] : []).filter(e => getComputedStyle(e).display !== 'none')"""
    assert chromium.wait_for(f"{found}.length"), "the search shows nothing for 'coalesced'"
    addresses = chromium.run(f"{found}.flatMap(e => [...e.querySelectorAll('a')].map(a => a.getAttribute('href')))")
    assert not chromium.faults, f"the search has errors: {chromium.faults}"
    named = {address.partition("#")[0].rpartition("/")[2] for address in addresses if ".html" in address}
    assert {"kernels.html", *hand_outs(html)} & named, f"'coalesced' leads to no hand-out, only to {sorted(named)}"
    for name in named:
        assert "coalesced" in (html / name).read_text(encoding="utf-8").lower(), f"'coalesced' does not stand in {name}"


def test_on_a_phone_the_menu_lists_the_labs(html, chromium):
    titles = [pages.Page(html / name).source.partition("<title>GPU Labs: ")[2].partition("</title>")[0]
              for name in hand_outs(html) if re.fullmatch(r"lab_[a-z0-9]+\.html", name)]
    assert titles, "there are no hand-outs"
    chromium.resize(390, 844)
    for name in ["index.html", "kernels.html", *hand_outs(html)]:
        chromium.open((html / name).as_uri())
        width = chromium.run("document.documentElement.scrollWidth")
        assert width <= 390, f"{name} is {width} pixels wide on a phone of 390"
        chromium.run("(document.querySelector('.main-menu-btn') || document.getElementById('main-menu-state'))?.click()")
        for title in titles:
            link = f"[...document.querySelectorAll('#main-menu a')].find(a => a.innerText.trim() === {title!r})"
            assert chromium.wait_for(f"{link}.offsetParent && {link}.getBoundingClientRect().height > 0"), (
                f"{name}: the menu does not list '{title}'")


def test_nothing_covers_the_search_box(html, chromium):
    for width in (1280, 390):
        chromium.resize(width, 900)
        for name in ("index.html", *hand_outs(html)[:1]):
            chromium.open((html / name).as_uri())
            assert chromium.wait_for("document.getElementById('MSearchField')?.getBoundingClientRect().width > 60"), (
                f"{name}: no search box at {width} pixels")
            covered = chromium.run("""(() => {
                const r = document.getElementById('MSearchField').getBoundingClientRect();
                return [0.02, 0.25, 0.5, 0.75, 0.98].flatMap(u => [0.2, 0.5, 0.8].map(v => [u, v])).filter(([u, v]) => {
                    const e = document.elementFromPoint(r.left + u * r.width, r.top + v * r.height);
                    return !e || !e.closest('#MSearchBox');
                }); })()""")
            assert not covered, f"{name} at {width} pixels: something covers the search box at {covered}"


def test_the_figures_are_what_their_script_draws(scratch):
    subprocess.run([sys.executable, ROOT / "docs/figures/draw.py", scratch], check=True)
    drawn = {file.name: file.read_text(encoding="utf-8") for file in scratch.glob("*.svg")}
    assert len(drawn) >= 8, f"draw.py draws only {sorted(drawn)}"
    for name, text in drawn.items():
        kept = ROOT / "docs/figures" / name
        assert kept.is_file() and kept.read_text(encoding="utf-8") == text, f"{name} is not what draw.py draws: run it again"


def test_the_text_of_the_figures_can_be_read_in_light_and_in_dark():
    faults = []
    for dark in (False, True):
        with open_browser(dark=dark) as chromium:
            chromium.resize(700, 700)
            for figure in sorted((ROOT / "docs/figures").glob("*.svg")):
                faults += [f"{'dark' if dark else 'light'}: {fault}" for fault in pages.illegible(chromium, figure)]
    assert not faults


def site(scratch, body, head=""):
    """A page with a good link, anchor and picture, and what is planted."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=scratch))
    (folder / "good.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 700 90"/>')
    (folder / "index.html").write_text(
        f'<!DOCTYPE html><html><head><meta charset="utf-8"/><title>t</title>{head}</head><body><div class="textblock">'
        '<p id="here">x <code>**p</code> <a href="#here">a</a> <a href="index.html#here">b</a> <img src="good.svg"/></p>'
        f"{body}</div></body></html>", encoding="utf-8")
    return folder


def test_a_planted_broken_link_picture_or_mark_is_found(scratch):
    good = site(scratch, "")
    assert not pages.broken(good, pages.read(good)), "a good page has broken links"
    assert not pages.literal_markdown(pages.read(good)), "a good page shows Markdown"
    for body in ('<a href="missing.html">x</a>', '<a href="#nowhere">x</a>', '<a href="index.html#nowhere">x</a>',
                 '<img src="missing.png"/>', '<script src="missing.js"></script>', '<a href="../docs/results">x</a>'):
        bad = site(scratch, body)
        assert len(pages.broken(bad, pages.read(bad))) == 1, f"not found: {body}"
    for body in ("s**ingle precision", "4*n* bytes", "a [link](to.md)", "see @ref here", "a $x$ b", "Title {#name}"):
        bad = site(scratch, f"<p>{body}</p>")
        assert len(pages.literal_markdown(pages.read(bad))) == 1, f"not found: {body}"
    about = f'<h2 id="details">What this file is</h2><p>{"word " * 20}</p>'
    code, members = '<div class="fragment">x</div>', '<table class="memberdecls"></table>'
    for parts, faulty in (((about, code, members), False), ((code, about, members), True), ((members, about, code), True),
                          ((about, members, code), True), ((about, members), True), (('<p id="details"></p>', code), True),
                          ((about, code, '<iframe src="a.svg"></iframe>'), True)):
        lab = site(scratch, "")
        (lab / "lab_one.html").write_text('<h2 id="code_one"></h2><a href="01__a_8cu.html">a</a>', encoding="utf-8")
        (lab / "01__a_8cu.html").write_text(f'<div class="contents">{"".join(parts)}</div>', encoding="utf-8")
        found = pages.order_of_rungs(pages.read(lab))
        assert bool(found) == faulty, f"{'not found' if faulty else 'a fault'}: {parts} {found}"
    bad = site(scratch, "", '<script src="MathJax.js"></script>')
    assert len(pages.needless_mathjax(pages.read(bad))) == 1, "MathJax without a formula is not found"
    bad = site(scratch, r"For \(n = 1\) it is short.")
    assert len(pages.needless_mathjax(pages.read(bad))) == 1, "a formula within a line, without MathJax, is not found"


def test_a_planted_error_in_the_console_or_in_a_figure_is_found(scratch, chromium):
    assert not pages.errors_in_browser(chromium, site(scratch, ""), ["index.html"]), "a good page has errors"
    for body in ("<script>console.error('x')</script>", "<script>undefined_name()</script>", "<script>var 3_a = 1</script>",
                 '<img src="missing.png"/>', '<script src="missing.js"></script>'):
        assert pages.errors_in_browser(chromium, site(scratch, body), ["index.html"]), f"not found: {body}"
    assert pages.errors_in_browser(chromium, site(scratch, ""), ["missing.html"]), "a missing page is not found"
    card = '<rect width="700" height="90" style="fill:#fff"/>'
    text = '<text x="{}" y="40" style="font-size:{}px;fill:{}">words that stand here</text>'
    good = text.format(20, 12, "#000")
    for drawn, faulty in ((good, False), (good + text.format(60, 12, "#000"), True), (text.format(640, 12, "#000"), True),
                          (text.format(20, 9, "#000"), True), (text.format(20, 12, "#bbb"), True)):
        figure = scratch / "figure.svg"
        figure.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 700 90">{card}{drawn}</svg>')
        faults = pages.illegible(chromium, figure)
        assert bool(faults) == faulty, f"{'not found' if faulty else 'a fault'}: {drawn} {faults}"


def test_a_page_is_put_into_the_words_of_Doxygen(scratch):
    root = scratch.resolve()
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
        assert wanted in text, f"'{wanted}' is not in:\n{text}"
    assert "<!--" not in text and "rows" not in text and "\n\n| a | b |\n" in text and "The end." in text, (
        f"a comment in:\n{text}")
    words = subprocess.run([sys.executable, ROOT / "docs/page.py", root, root / "docs/kernels.md"], check=True,
                           stdout=subprocess.PIPE, text=True).stdout
    assert "- @anchor kernels_lane <b>Lane</b>: one" in words, f"no anchor in:\n{words}"
