"""The tests of the pages: they are built once, in a folder whose name has spaces, and what lies there is looked at."""

import collections
import contextlib
import csv
import html as html_module
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile

import browser
import pages
import pytest
from conftest import LABS, ROOT, Files, built, passed, run

sys.path[:0] = [str(ROOT / "docs/pages"), str(ROOT / "docs/figures")]
from repository import Repository  # noqa: E402
from texts import largest_hz  # noqa: E402

repository = Repository(ROOT)
GROUPS = ["Start", "Labs", "Lessons", "Results", "Sources", "Instructors", "Code"]
AXE = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "build/axe").glob("axe.min.js"))


@pytest.fixture(scope="module")
def html():
    for program in ("doxygen", "pandoc"):
        if not shutil.which(program):
            pytest.skip(f"no {program} to build the pages with (./lab setup --all)")
    with tempfile.TemporaryDirectory() as scratch:
        copy = pathlib.Path(scratch) / "a folder with 'spaces'"
        compilers = [f"compilers/{name}" for name in ("c++", "g++", "cc", "gcc", "nvcc", "cmake")]  # the pages need none
        files = Files(copy, {**dict.fromkeys(compilers, "#!/bin/sh\nexit 99\n"),
                             "answers/01_saxpy.md": "# Answers: lab 01\n\nunlockedanswer7f3a.\n"})  # as ./lab instructor unlock makes it
        files.copy("README.md", "CONTRIBUTING.md", "LICENSE", "lab", "CMakeLists.txt", "CMakePresets.json", "Doxyfile", "tools", "cmake", "common",
                   "docs", "emulator", "labs", "tests")
        passed("git", "init", "-q", copy)
        passed("git", "-C", copy, "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-q", "--allow-empty", "-m", "The commit in the footer")
        for name in compilers:
            files.path(name).chmod(0o755)
        passed(copy / "lab", "docs", "--zip", GPULAB_INSTALL="no", PATH=f"{copy / 'compilers'}:{os.environ['PATH']}")
        yield copy / "build/pages"


@pytest.fixture(scope="module")
def found(html):
    return pages.read(html)


def test_the_pages_are_built_in_a_folder_whose_name_has_spaces_and_packed_into_one_file(html):
    built = {file.relative_to(html).as_posix() for file in html.rglob("*") if file.is_file()}
    assert {"index.html", "search.html", "pages.css", "figures/first-run.svg"} <= built
    assert {f"lab_{name}.html" for name in LABS} <= built
    with zipfile.ZipFile(html.parent / "gpu-labs-pages.zip") as packed:
        assert {name.removeprefix("gpu-labs-pages/") for name in packed.namelist() if not name.endswith("/")} == built
        assert packed.read("gpu-labs-pages/index.html") == (html / "index.html").read_bytes()


def test_there_is_a_page_for_each_rung_with_its_parts_in_order(found):
    assert len(repository.rungs) > 150 and 250 <= len(found) <= 400
    order = ["what-changed", "formula", "kernel", "source", "difference", "measured", "tests", "source-texts"]
    beside = 0
    for rung in repository.rungs:
        source = found[rung.page]
        assert f"<h1>{rung.name}: lab {rung.lab.number}, {rung.place}</h1>" in source
        has = re.findall('<h2 id="([^"]+)"', source)
        assert {"what-changed", "source", "tests"} <= set(has) <= set(order), (rung.page, has)
        shown = [one for one in has if one != "source"]
        assert shown == [one for one in order if one in shown], (rung.page, has)
        assert ("difference" in has) == bool(rung.before), rung.page
        for one in filter(None, (rung.before, *rung.lab.twins(rung))):
            assert one.page in source or one.back_end == "cpu" or rung.back_end == "cpu", f"{rung.page} does not lead to {one.name}"
        if "kernel" in has:
            beside += 1
            columns = re.search(r'<div class="side-by-side">(.*?)<h2', source, re.DOTALL)[1]
            assert re.findall(r"<p>(CUDA|OpenCL): ", columns) == ["CUDA", "OpenCL"]
            shown = len(pages.LISTING.findall(columns)) + columns.count("The kernels stand in files that")
            assert shown == 2, f"{rung.page}: not two kernels side by side"
        for row in rung.mistakes:
            assert f"<code>{row['id']}</code>" in source, f"{rung.page} does not tell of {row['id']}"
    assert beside >= 60


def test_the_page_of_a_rung_shows_what_is_measured_and_what_the_texts_have(found):
    table = (ROOT / "labs/02_reduction/README.md").read_text(encoding="utf-8")
    row = re.search(r"(?m)^\| cuda_shuffle \|(.*)\|$", table)[1].split("|")
    source, other = found["rung_reduction_cuda_shuffle.html"], found["rung_reduction_cuda_two_level.html"]
    text = re.sub(r"<[^>]*>", " ", source)  # the table's units and device come along
    for words in (*row, "Hand-out: What to expect", "Sums of floats on an H200", "measured on one NVIDIA H200", "block_sum.cuh"):
        assert words.strip() in text, words
    assert '_source.html">cuda/block_sum.cuh</a>: The sum over a warp and over a block: as in rung 6' in found["lab_reduction_rungs.html"]
    assert "<math" in source and "In the texts" in re.sub(r"<[^>]*>", " ", other)
    assert '<a href="concordance.html#book-program-2-7">Book, program 2.7</a>' in other
    assert '<a href="texts_faults.html#book-program-2-7">fault in the text</a>' in other


def test_every_page_has_the_menu_in_which_it_or_the_page_above_it_is_marked_and_group_titles_are_links(found):
    menus = {name: re.search(r'<nav id="menu".*?</nav>', page, re.DOTALL)[0] for name, page in found.items()}
    listed = set(re.findall(r'href="([^"]+)"', menus["index.html"]))
    assert {f"lab_{lab}{part}.html" for lab in LABS for part in ("", "_path", "_measured", "_rungs")} <= listed
    for name, menu in menus.items():
        groups = dict(re.findall(r'<li class=group><a href="([^"]+)">([A-Z]\w+)</a><details', menu))
        assert [*groups.values()] == GROUPS and groups["index.html#the-labs"] == "Labs", name
        marked = re.findall(r'href="([^"]+)" aria-current="(page|true)"', menu)
        lab = re.match("rung_([a-z]+)_", name)
        at = name if name in listed else f"lab_{lab[1]}_rungs.html" if lab else None
        assert marked == [(at, "page" if at == name else "true")] if at else len(marked) == (name != "search.html"), name
    source = found["kernels.html"]
    assert '<h2 id="memory">Memory<a class="permalink" href="#memory"' in source and re.search("<footer>GPU Labs commit [0-9a-f]{7,}", source)


def test_links_in_listings_lead_where_they_say(html, found):
    root = html.parents[1]
    known = {f"api/{address.replace('.html', end)}": name for address, name in pages.doxygen_knows(html.parent / "api.tag").items()
             for end in (".html", "_source.html")}
    known.update({page: path for path, page in sorted(repository.pages.items(), reverse=True)})  # of a rung's two files the kernels
    shown = [(path, listing) for path, rung in repository.rung_of_file.items() for listing in pages.LISTING.findall(found[rung.page])]
    count, faults = pages.wrong_links(shown, known, root)
    assert count > 1500 and not faults, faults[:10]


@pytest.fixture
def broken_links():
    pytest.importorskip("pygments")
    from build import broken_links
    return broken_links


def test_doxygen_alone_makes_pages_without_a_warning_whose_code_has_no_wrong_link(html, broken_links):
    root, api = html.parents[1], html.parent / "api"
    done = run("doxygen", cwd=root)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert "./lab start" in (api / "index.html").read_text(encoding="utf-8")
    for page in ("labs__02_reduction__README__md", "docs__lessons__races__md", "annotated", "files", "globals", "namespaces", "classgpulab_1_1DeviceBuffer",
                 "06__shuffle_8cu", "02__tree__sequential_8cl_source"):
        assert (api / f"{page}.html").is_file(), page
    assert not broken_links(api, {name: page for name, page in pages.read(api).items() if name.endswith(("__md.html", "index.html"))})
    listed, known = [], pages.doxygen_knows(html.parent / "api.tag")
    for address, path in known.items():
        for page in (address, address.replace(".html", "_source.html")) if path.endswith((".hpp", ".cpp", ".cu", ".cuh", ".cl")) else ():
            if (api / page).is_file():
                code = "".join(re.findall('<div class="line">.*', (api / page).read_text(encoding="utf-8")))
                listed.append((pathlib.Path(path).relative_to(root).as_posix(), re.sub('<a class="line".*?</a>', "", code)))
    count, faults = pages.wrong_links(listed, {address: name.removeprefix(f"{root}/") for address, name in known.items()}, root)
    assert count > 3000 and not faults, faults[:10]


def test_pages_of_code_and_of_rungs_lead_to_each_other(html, found):
    assert 'href="api/06__shuffle_8cu.html"' in found["rung_reduction_cuda_shuffle.html"] and 'href="api/index.html"' in found["index.html"]
    for page in ("08__single__pass_8cu", "classgpulab_1_1DeviceBuffer", "occupancy_8hpp"):
        assert '<a href="../rung_reduction_cuda_single_pass.html">cuda_single_pass</a>' in (html / f"api/{page}.html").read_text(), page
    assert '"../index.html"' in (html / "api/menudata.js").read_text()
    back = {link for file in (html / "api").glob("*.html") for link in re.findall(r'href="\.\./([^"#]*)', file.read_text(encoding="utf-8"))}
    assert len(back) > 200 and back <= set(found), back - set(found)


def test_no_page_shows_an_unlocked_answer(html):
    pages_of_answers = [file.name for file in html.rglob("*") if file.is_file() and b"unlockedanswer7f3a" in file.read_bytes()]
    assert not pages_of_answers
    assert any(b"leapfrog" in file.read_bytes() for file in html.glob("lab_*.html")), "a word of a hand-out would be found"


@pytest.fixture(scope="module")
def one_browser():
    path = browser.find_chromium()
    if not path:
        pytest.skip("no Chromium to open the pages with (Debian's package chromium; a snap does not do)")
    with browser.Browser(path) as opened:
        yield opened


@pytest.fixture
def chromium(one_browser):
    one_browser.new_tab()
    one_browser.resize(1280, 900)
    return one_browser


def test_a_page_of_results_leads_to_its_files_and_pictures(html, found):
    source = found["results_h200.html"]
    assert '<a href="results/h200/saxpy.json">saxpy.json</a></td><td><a href="figures/saxpy-ladder.svg">saxpy-ladder.svg</a>' in source
    files = {file.name for file in (ROOT / "docs/results/h200").glob("*.json")}
    assert {file.name for file in (html / "results/h200").iterdir()} == set(re.findall(r'href="results/h200/([^"]+)"', source)) == files


def test_no_word_of_a_page_is_lost(found):
    def words(text):
        return collections.Counter(re.findall(r"[^\W\d_]\w*", html_module.unescape(text).lower()))

    for path in repository.prose():
        text = (ROOT / path).read_text(encoding="utf-8")
        text = re.sub(r"(?s)<!--.*?-->|</?a\b[^>]*>|^```\w*$|\$\$.*?\$\$|\$[^$\n]+(\n[^$\n]+)?\$", " ", text, flags=re.MULTILINE)
        text = re.sub(r"\]\([^)\s]*\)", "] ", text).replace("\\", "")
        source = found[repository.pages[path]]
        shown = re.sub(r"</?(a|em|strong|code|span|su[bp])\b[^>]*>", "", source[source.find("<h1>"):]) + " ".join(re.findall('alt="([^"]*)"', source))
        lost = words(text) - words(re.sub(r"<[^>]*>", " ", shown))
        assert sum(lost.values()) <= 2, f"{path}: its page lacks {dict(lost)}"  # two may stand in formulas


def test_the_pages_show_which_lines_are_an_exercise_without_what_students_receive(found):
    for rung, is_exercise in (("cuda_many_blocks", True), ("opencl_one_item", True), ("cuda_raw", False)):
        source = found[f"rung_saxpy_{rung}.html"]
        text = html_module.unescape(re.sub(r"<[^>]*>", "", source))
        assert ("// Students write this in the exercise many-blocks:\n" in text) == is_exercise == ('class="exercise"' in source), rung
        assert '<span class="k">namespace</span>' in source, "CUDA and OpenCL's host are coloured as C++"
        assert "k * a[i] + b[i]" in text and not re.search(r"//\||// (END )?(EXERCISE|ANSWER)", text)
    assert "get_global_id" in found["kernels.html"]
    assert not re.search(r"//\||(END )?ANSWER", found["kernels.html"])


def test_the_name_of_a_variant_leads_to_its_page(found):
    links = {rung.page: set(re.findall(rf'<a href="([^"]*)"><code>{rung.name}</code></a>', found[f"lab_{lab.name}.html"]))
             for lab in repository.labs for rung in lab.rungs if f"`{rung.name}`" in lab.text("README.md")}
    assert len(links) >= 150 and not {page: to for page, to in links.items() if to != {page}}


def test_no_page_shows_Markdown_and_formulas_need_no_script(found):
    assert not pages.literal_markdown(found)
    assert sum(page.count("<math") for page in found.values()) > 400
    assert found["formulas.html"].count('<math display="block"') >= 9
    assert not [name for name, page in found.items() if "\\frac" in re.sub(r"<annotation.*?</annotation>", "", page, flags=re.DOTALL)]


# What is typed into the search, and the page that has to come first.
FIRST_FOUND = {
    "what is a warp": "kernels.html#warp", "coalescing": "kernels.html#coalesced", "vectorized": "kernels.html#vectorized",
    "deadlock": "kernels.html#deadlock", "spilling": "kernels.html#spill", "Berenger": "lab_fdtd.html",
    "0.1 + 0.2": "lessons_floating_point.html#numbers-with-gaps", "cuda::Buffer": "api/cuda_2buffer_8hpp.html",
    "bank conflicts": "kernels.html#bank", "occupancy": "kernels.html#occupancy", "memory bound": "kernels.html#memory-bound",
    "race condition": "parallel.html#when-threads-share-a-number", "warp shuffle": "kernels.html#shuffle", "pinned memory": "kernels.html#memory",
    "tensor cores": "kernels.html#tensor-core", "Kahan summation": "rung_reduction_cpu_kahan.html", "cuda_shuffle": "rung_reduction_cuda_shuffle.html",
    "install without a GPU": "index.html#before-the-first-run", "Canvas gradebook": "grading.html#canvas-and-moodle",
    "look back tile": "rung_reduction_cuda_scan_look", "late days": "grading.html", "program 2.7": "texts_faults.html#book-program-2-7",
    "spmv cuda streaming.cuh": "api/streaming_8cuh_source.html",
}


def test_the_search_finds_the_right_page_first_and_shows_its_words(html, chromium):
    if not (html / "search-index.js").is_file():
        pytest.skip("no lunr (./lab setup --all)")

    def typed(words):
        shown = chromium.run(f"document.getElementById('search').value = {json.dumps(words)}; document.getElementById('search').oninput(); "
                             "[...document.querySelectorAll('#search-results li')].map(e => [e.querySelector('a').getAttribute('href'), "
                             "e.innerText, e.querySelectorAll('mark').length])")
        assert not chromium.faults, chromium.faults
        return shown

    chromium.open((html / "index.html").as_uri())
    chromium.run("document.getElementById('search').value = 'Warps'; setTimeout(() => document.getElementById('search').form.requestSubmit(), 0); 0")
    end = time.monotonic() + browser.SECONDS
    while time.monotonic() < end:
        with contextlib.suppress(OSError):  # while one page gives way to the other
            if chromium.run("document.getElementById('search-results')?.children.length"):
                break
        time.sleep(0.1)
    assert chromium.run("document.querySelector('#search-results a').getAttribute('href')") == "kernels.html#warp"
    assert not {words: [shown[0] for shown in typed(words)[:3]] for words, page in FIRST_FOUND.items() if not typed(words)[0][0].startswith(page)}
    assert all(marks for _, _, marks in typed("bank conflicts")[:10])
    assert any("f<<<blocks, threads>>>" in text for _, text, _ in typed("launch")[:3]), "a definition whose heading is code, with its marks of HTML"
    assert typed("warp zzyzx")[0][0] == "kernels.html#warp" and "No place has all" in chromium.run("document.getElementById('search-count').innerText")
    for words in ("zzyzx", "[a", "\\", "*", "the", "<img src=x>", "a" * 200, ""):
        assert typed(words) == [] or words == "<img src=x>", words


def test_no_page_scrolls_sideways_on_a_phone_and_no_listing_on_a_screen(html, chromium):
    assert not pages.faults_in(chromium, html, sorted(file.name for file in html.glob("rung_*.html"))[::8], """
        document.querySelectorAll('details').forEach(d => d.open = true) ||
        [...document.querySelectorAll('.listing pre')].filter(e => e.scrollWidth > e.clientWidth).map(e => e.ariaLabel)""")
    chromium.resize(390, 844)
    assert not pages.faults_in(chromium, html, [file.name for file in html.glob("*.html")], pages.TOO_WIDE)


def test_on_a_phone_the_menu_opens_and_lists_the_labs_also_without_scripts(html, chromium):
    shown = "['#menu a[href=\"start.html\"]', '#menu-button', '#theme-button', 'main h1'].map(s => document.querySelector(s).checkVisibility())"
    link = "document.querySelector('#menu a[href=\"lab_cg.html\"]')"
    for scripts, width, name in itertools.product((True, False), (390, 1280), ("index.html", "lab_reduction.html", "rung_reduction_cuda_shuffle.html")):
        chromium.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        chromium.resize(width, 844)
        chromium.open((html / name).as_uri())
        chromium.run("document.querySelectorAll('#menu details').forEach(d => d.open = true)")
        assert chromium.run(shown) == [width == 1280, width == 390, scripts, True], (name, width, scripts)
        chromium.run("document.getElementById('menu-button').click()")
        assert chromium.run(f"{link}.checkVisibility() && {link}.getBoundingClientRect().height > 0"), (name, width, scripts)
        if scripts and width == 390:
            assert chromium.run(f"{link}.addEventListener('click', e => e.preventDefault()); {link}.click(); !{link}.checkVisibility()"), "it covers the page"


def test_nothing_covers_the_search_box(html, chromium):
    for width in (1280, 390):
        chromium.resize(width, 900)
        assert not pages.faults_in(chromium, html, ("index.html", "lab_saxpy.html"), """(() => {
            const r = document.getElementById('search').getBoundingClientRect();
            if (r.width < 60) return ['too narrow'];
            return [0.02, 0.25, 0.5, 0.75, 0.98].flatMap(u => [0.2, 0.5, 0.8].map(v => [r.left + u * r.width, r.top + v * r.height]))
                .filter(at => document.elementFromPoint(...at)?.id !== 'search').map(at => `covered at ${at}`);
        })()"""), width


def test_light_and_dark_can_be_chosen_code_copied_and_pages_printed(html, chromium):
    ground = "getComputedStyle(document.body).backgroundColor"
    chromium.open((html / "rung_reduction_cuda_shuffle.html").as_uri())
    light = chromium.run(ground)
    chromium.run("document.getElementById('theme-button').click()")
    assert chromium.run(ground) != light and chromium.run("document.getElementById('theme-button').getAttribute('aria-pressed')") == "true"
    chromium.open((html / "kernels.html").as_uri())
    assert chromium.run(ground) != light, "the next page does not keep the choice"
    chromium.run("document.getElementById('theme-button').click()")
    assert chromium.run(ground) == light
    copied = chromium.run("""(async () => {
        let kept = null;
        Object.defineProperty(navigator, 'clipboard', { value: { writeText: async text => { kept = text; } }, configurable: true });
        const box = document.querySelector('.code'), code = box.querySelector('code'), button = box.querySelector('.copy');
        const copied = async text => { code.textContent = text; button.click(); await 0; return kept; };
        return [await copied('all $ of\\nthis'), await copied('$ ls \\\\\\n  -l\\ntotal $ 1\\n$ pwd\\n/home\\n'), button.textContent];
    })()""")
    assert copied == ["all $ of\nthis", "ls \\\n  -l\npwd", "Copied"], copied
    chromium.call("Emulation.setEmulatedMedia", media="print")
    chromium.run("document.documentElement.classList.add('dark')")
    assert chromium.run(ground) == "rgb(255, 255, 255)", "it prints dark"
    hidden = chromium.run("['header', '#menu', '.contents', '.copy'].filter(s => document.querySelector(s).checkVisibility())")
    assert hidden == [] and chromium.run("getComputedStyle(document.querySelector('pre')).whiteSpace") == "pre-wrap"


def test_every_page_opens_in_a_browser_without_an_error_and_axe_finds_no_barrier_in_light_and_in_dark(html, chromium):
    names = sorted((file.name for file in html.glob("*.html")), key=lambda name: name.startswith("rung_"))
    rungs = [name for name in names if name.startswith("rung_")]  # one function makes them
    names = names[:-len(rungs)] + rungs[::20]
    faults, colours = [], ["color-contrast"]  # all pages have them from one file
    for dark, width, some, script in (
            (False, 1280, [name for i, name in enumerate(names) if i % 4], pages.barriers(AXE, without=colours)),
            (False, 1280, names[::4], pages.barriers(AXE)), (False, 390, names[::10], pages.barriers(AXE)),
            (True, 1280, [*names[::6], "rung_reduction_cuda_grid_stride.html"], pages.barriers(AXE, colours))):
        chromium.new_tab(dark=dark)
        chromium.resize(width, 900)
        faults += pages.faults_in(chromium, html, some, script)
    assert not faults, "\n".join(faults)
    if not AXE:
        pytest.skip("no axe, the checker of accessibility (./lab setup --all)")


def test_the_figures_are_what_their_script_draws(scratch):
    subprocess.run([sys.executable, ROOT / "docs/figures/draw.py", scratch], check=True)
    drawn = {file.name: file.read_text(encoding="utf-8") for file in scratch.glob("*.svg")}
    assert len(drawn) >= 8, f"draw.py draws only {sorted(drawn)}"
    for name, text in drawn.items():
        kept = ROOT / "docs/figures" / name
        assert kept.is_file() and kept.read_text(encoding="utf-8") == text, f"{name} is not what draw.py draws: run it again"


@pytest.mark.parametrize("steps", [40, 200])
def test_the_field_in_the_picture_of_program_4_2_is_that_of_lab_08_and_as_printed_it_runs_away(scratch, steps):
    passed(built("fdtd"), "--scene", "book", "--variant", "cpu_sequential", "--steps", steps, "--repeat", 1, "--warmup", 0, "--field", scratch / "field.csv")
    with open(scratch / "field.csv", encoding="utf-8") as file:
        field = max(abs(float(row["Hz"])) for row in csv.DictReader(file))
    assert largest_hz(False, steps)[-1] == pytest.approx(field, rel=1e-6)  # the file has floats
    assert largest_hz(True, steps)[-1] == pytest.approx({40: 122.77356, 200: 4.60868727e24}[steps], rel=1e-6), "lab 08 with the mistake printed-dx"


def test_the_text_of_the_figures_can_be_read_in_light_and_in_dark(chromium):
    faults = []
    for dark in (False, True):
        chromium.new_tab(dark=dark)
        chromium.resize(700, 700)
        figures = sorted(figure.name for figure in (ROOT / "docs/figures").glob("*.svg"))
        faults += [f"{'dark' if dark else 'light'}: {fault}" for fault in pages.faults_in(chromium, ROOT / "docs/figures", figures, pages.LEGIBLE)]
    assert not faults


def site(scratch, body):
    """A good page, with what is planted."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=scratch))
    (folder / "good.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 700 90"/>')
    (folder / "index.html").write_text(
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"/><meta name="viewport" content="width=device-width"><title>t</title></head>'
        '<body><main><article><h1>t</h1><p id="here">x <code>**p</code> <a href="#here">a</a> <a href="index.html#here">b</a> '
        '<img src="good.svg" alt="c"/></p><div style="overflow-x:auto" tabindex="0"><div style="width:600px">x</div></div>'
        f"{body}</article></main></body></html>", encoding="utf-8")
    return folder


def is_found_where_planted(scratch, check, bodies):
    assert not check(site(scratch, "")), "found in a good page"
    for body in bodies:
        assert check(site(scratch, body)), f"not found: {body}"


def test_a_planted_broken_link_picture_or_mark_is_found(scratch, broken_links):
    is_found_where_planted(scratch, lambda folder: broken_links(folder, pages.read(folder)), (
        '<a href="missing.html">x</a>', '<a href="#nowhere">x</a>', '<a href="index.html#nowhere">x</a>',
        '<img src="missing.png"/>', '<script src="missing.js"></script>', '<a href="../docs/results">x</a>'))
    is_found_where_planted(scratch, lambda folder: pages.literal_markdown(pages.read(folder)), (
        "s**ingle precision", "4*n* bytes", "a [link](to.md)", "see @ref here", "a $x$ b", "Title {#name}"))
    known = {"index.html": "labs/01_saxpy/saxpy.hpp", "other.html": "labs/02_reduction/reduction.hpp", "index.html#f": "gpulab::f"}
    for listing, faults in (('#include &quot;<a href="index.html">saxpy.hpp</a>', 0), ('#include &quot;<a href="other.html">saxpy.hpp</a>', 1),
                            ('<a href="index.html">"gpulab/error.hpp"</a>', 1), ('<a href="index.html#here">gpulab::here</a>', 1),
                            ('<a href="index.html#f">gpulab::f</a>', 0), ('<a href="index.html#f">gpulab::g</a>', 1), ('<a href="index.html#f">f</a>', 1)):
        count, found = pages.wrong_links([("labs/01_saxpy/main.cpp", listing)], known, ROOT)
        assert (count, len(found)) == (1, faults), listing


def test_a_planted_error_barrier_or_width_or_fault_in_a_figure_is_found(scratch, chromium):
    def check(script="[]"):
        return lambda folder: pages.faults_in(chromium, folder, ["index.html"], script)

    is_found_where_planted(scratch, check(), (
        "<script>console.error('x')</script>", "<script>undefined_name()</script>", "<script>var 3_a = 1</script>",
        '<img src="missing.png"/>', '<script src="missing.js"></script>'))
    assert pages.faults_in(chromium, site(scratch, ""), ["missing.html"]), "a missing page is not found"
    if AXE:
        is_found_where_planted(scratch, check(pages.barriers(AXE)), (
            '<p style="color:#aaa">pale</p>', '<button></button>', "<script>console.error('x')</script>"))
    chromium.resize(390, 844)
    is_found_where_planted(scratch, check(pages.TOO_WIDE), ['<div style="width:600px">x</div>'])
    card = '<rect width="700" height="90" style="fill:#fff"/>'
    text = '<text x="{}" y="40" style="font-size:{}px;fill:{}">words that stand here</text>'
    good = text.format(20, 12, "#000")
    for drawn, faulty in ((good, False), (good + text.format(60, 12, "#000"), True), (text.format(640, 12, "#000"), True),
                          (text.format(20, 9, "#000"), True), (text.format(20, 12, "#bbb"), True)):
        figure = scratch / "figure.svg"
        figure.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 700 90">{card}{drawn}</svg>')
        faults = pages.faults_in(chromium, scratch, [figure.name], pages.LEGIBLE)
        assert bool(faults) == faulty, f"{'not found' if faulty else 'a fault'}: {drawn} {faults}"


class Tree(Files):
    """A small repository with the program that makes the pages."""

    def __init__(self, folder):
        super().__init__(folder, {
            "README.md": "# All\n\n## The labs\n\n[the lab](labs/01_one/README.md), [words](docs/kernels.md#lane), [gone](labs/02_two/README.md).\n",
            "docs/kernels.md": '# Words\n\n## Where\n\n- <a name="lane"></a>**Lane**: one\n',
            "docs/a.svg": "<svg/>",
            "docs/formulas.md": "# Formulas\n\n## 01_one: a\n\n$$\nx * y * z\n$$\n\nIn `cuda_a`.\n\n## 02_two: b\n\nNone.\n",
            "common/include/gpulab/one.hpp": "/// @file\n/// One thing.\n#pragma once\nnamespace gpulab {\n"
                                             "/// Adds.\n/// @param a  a number\nint add(int a);\n}\n",
            "labs/01_one/rungs.inc": 'CUDA_RUNG(cuda_a, "a thing")\nCUDA_RUNG(cuda_b, "another<T> & more", .needs = {.x = (1)})\n'
                                     'CUDA_RUNG(cuda_c, "the third")\nOPENCL_RUNG(opencl_a, "the same")\n',
            "labs/01_one/cuda/01_a.cu": '// Rung 1: a.\n//\n// Limit: `x` and cuda_b, lanes of lane_sum() in many lanes (help.cuh).\n#include "gpulab/one.hpp"\n'
                                        "__global__ void kernel() {\n    // EXERCISE e\n    //| // your part\n    int i = gpulab::add(1);\n"
                                        "    // END EXERCISE\n}\nvoid cuda_a(int) {}\n",
            "labs/01_one/cuda/02_b.cu": "// Rung 2: b, the counterpart of nothing, in two steps:\n//   1. one\n//      more\n//   2. two\n//\n//    a     b\n"
                                        "void same();\nvoid late(vector<int>& x);\nvoid cuda_b(int) {}\n",
            "labs/01_one/cuda/03_c.cu": "// Rung 3: c.\nvoid same();\nvoid early();\nvoid cuda_c(int) {}\n",
            "labs/01_one/cuda/help.cuh": "// Helps.\nint help();\n",
            "tests/mistakes/01_one.toml": '["cuda/01_a.cu".of-a]\nstudent = "a < b"\ncheck = "<small>"\n'
                                          '["cuda/b.cuh".of-b]\nrung = ["cuda_b"]\nstudent = "b"\n',
            "labs/01_one/opencl/01_a.cpp": "// Rung 1, the counterpart of cuda_a.\nvoid opencl_a(int) {}\n",
            "labs/01_one/opencl/01_a.cl": "kernel void a(global int* x) { x[0] = 1; }\n",
            "labs/01_one/README.md": "# Lab 01: one\n\n## What to expect\n\n4*n* bytes, **s**; `*c*`, a * b * c, $n*m$, $5 in all.\n\n"
                                     "`cuda_a`, a [lane](../../docs/kernels.md#lane), [above](#what-to-expect), [rung](cuda/01_a.cu), "
                                     "[web](https://x.invalid), [file](rungs.inc), gpulab::add.\n\n![drawn](../../docs/a.svg)\n\n"
                                     "<!-- table\nrows *_a `b\n-->\n| | ms |\n|---|---|\n| cuda_a | 4.25 |\n| cuda_b | 7.75 |\n\n    code *a* $b$\n",
        })
        self.copy("docs/pages", "docs/doxygen", "tools/grading", "Doxyfile")

    def build(self, **environment):
        return run(sys.executable, "-B", self.path("docs/pages/build.py"), self.path("out"), **environment)

    def page(self, name):
        return self.read(f"out/{name}")


@pytest.fixture
def tree(scratch):
    if not shutil.which("doxygen") or not shutil.which("pandoc"):
        pytest.skip("no doxygen or no pandoc (./lab setup --all)")
    return Tree(scratch / "tree")


def test_a_small_repository_becomes_pages(tree):
    done = tree.build()
    assert done.returncode == 0, done
    lab = tree.page("lab_one.html")
    for wanted in ('<h2 id="what-to-expect">What to expect<a class=', "4<em>n</em> bytes, <strong>s</strong>;", "<code>*c*</code>, a * b * c",
                   '<a href="rung_one_cuda_a.html"><code>cuda_a</code></a>', '<a href="kernels.html#lane">lane</a>',
                   '<a href="lab_one.html#what-to-expect">above</a>', '<a href="rung_one_cuda_a.html">rung</a>', "$5 in all",
                   '<a href="https://x.invalid">web</a>', " file, ", 'src="figures/a.svg" alt="drawn"', "code *a* $b$", '<td class="short"></td>'):
        assert wanted in lab, f"'{wanted}' is not in:\n{lab}"
    assert "rows *_a" not in lab and re.search(r'<a href="api/namespacegpulab.html#[^"]+"><code>gpulab::add</code></a>', lab)
    assert 'id="lane"' in tree.page("kernels.html") and "[gone]" not in tree.page("index.html") and "gone." in tree.page("index.html")
    rung = tree.page("rung_one_cuda_a.html")
    for wanted in ('<strong>Limit:</strong> <code>x</code> and <a href="rung_one_cuda_b.html">cuda_b</a>, <a href="kernels.html#lane">lanes</a>'
                   ' of <code>lane_sum()</code> in many lanes (<a href="api/help_8cuh_source.html">help.cuh</a>).', "4.25",
                   "// Students write this in the exercise e:", 'href="rung_one_opencl_a.html"', "x[", '<math display="block"',
                   'rel="next" href="rung_one_cuda_b.html"'):
        assert wanted in re.sub(r'</?span[^>]*>', "", rung) or wanted in rung, f"'{wanted}' is not in:\n{rung}"
    assert "your part" not in rung and "EXERCISE" not in rung
    assert re.findall("7.75|of-b", rung) == [], "something of another rung"
    assert "<td><code>of-a</code></td><td>a &lt; b</td><td>wrong values, check “&lt;small&gt;”</td>" in rung
    columns = re.split("<p>(CUDA|OpenCL): ", re.search('(?s)<div class="side-by-side">.*?<h2', rung)[0])
    assert [columns[i] for i in (1, 3)] == ["CUDA", "OpenCL"]
    for column, name, kernel, other in ((columns[2], "cuda_a", "__global__", "kernel void"), (columns[4], "opencl_a", "kernel void", "__global__")):
        words = re.sub("<[^>]*>", "", column)
        assert words.startswith(name) and kernel in words and other not in words, columns
    assert 'href="api/01__a_8cu.html"' in rung and "<a href='../rung_one_cuda_a.html'>".replace("'", '"') in tree.page("api/01__a_8cu.html")
    assert '<a href="../rung_one_cuda_a.html">cuda_a</a>' in tree.page("api/one_8hpp.html") and "a number" in tree.page("api/namespacegpulab.html")
    assert "02_two" not in tree.page("formulas.html")
    # Each line of a listing has the number that it has in the file.
    lines = dict(re.findall(r'data-n="(\d+)">(.*)', rung))
    source = tree.read("labs/01_one/cuda/01_a.cu").split("\n")
    for number in (4, 5, 8, 10):
        assert html_module.unescape(re.sub("<[^>]*>", "", lines[str(number)])).startswith(source[number - 1]), (number, lines)
    # The rung between the two others.
    rung = tree.page("rung_one_cuda_b.html")
    for wanted in ('rel="prev" href="rung_one_cuda_a.html"', 'rel="next" href="rung_one_cuda_c.html"', "Another&lt;T&gt; &amp; more.", "7.75",
                   "<ol><li>one more</li><li>two</li></ol><pre", "   a     b</code></pre>", "No counterpart in OpenCL.", "<code>of-b</code>", "vector&lt;"):
        assert wanted in rung, f"'{wanted}' is not in:\n{rung}"
    assert "vector&lt;" in re.search('(?s)<h2 id="source">.*?<h2', rung)[0], "marks of HTML in a listing"
    assert not re.search("4.25|of-a|cuda_c</code></a>", rung) and rung.count("<h2") == rung.count("<li class=\"level2\">")
    change = re.search('(?s)<h2 id="difference">.*?<h2', tree.page("rung_one_cuda_c.html"))[0]
    assert "02_b.cu</code> → <code>03_c.cu</code>: 2 lines added, 2 removed" in change
    assert re.findall('<span class="(came|gone)">.void (late|early|cuda_b|cuda_c)', change) == [
        ("gone", "late"), ("gone", "cuda_b"), ("came", "early"), ("came", "cuda_c")]


def test_without_lunr_the_pages_are_built_and_say_that_the_search_is_off(tree):
    tree.write("without/lunr.py", "raise ImportError\n")
    done = tree.build(PYTHONPATH=tree.path("without"))
    assert done.returncode == 0 and done.stderr.count("\n") == 1 and "no search" in done.stderr and "python3-lunr" in done.stderr, done
    assert "no search" in tree.page("search.html") and "<script src=\"lunr" not in tree.page("search.html") and tree.page("index.html")


@pytest.mark.parametrize("name, old, new, told", [
    ("README.md", "docs/kernels.md#lane", "docs/kernel.md", "README.md: the link docs/kernel.md leads to no file"),
    ("README.md", "#lane", "#lanes", "index.html: there is no place kernels.html#lanes"),
    ("README.md", "[words](", "[words](../", "README.md: the link ../docs/kernels.md#lane leads out of the repository"),
    ("labs/01_one/README.md", "a.svg", "b.svg", "labs/01_one/README.md: there is no picture ../../docs/b.svg"),
    ("labs/01_one/README.md", "gpulab::add", "gpulab::sub", "labs/01_one/README.md: the API has no gpulab::sub"),
    ("docs/kernels.md", "# Words\n", "", "docs/kernels.md: it does not begin with a heading"),
    ("common/include/gpulab/one.hpp", "/// Adds.\n/// @param a  a number\n", "", "common/include/gpulab/one.hpp:5: warning: Member add(int a) (function) of namespace gpulab is not documented."),
    ("common/include/gpulab/one.hpp", "int add(int a);", "int add(int a);\nstruct Bare {};", "one.hpp: Bare has no comment"),
    ("common/include/gpulab/one.hpp", "/// @file", "///", "common/include/gpulab/one.hpp: it does not say '@file'"),
    ("common/include/gpulab/one.hpp", "@param a", "@param b", "argument 'b' of command @param is not found"),
])
def test_what_is_wrong_with_a_page_is_told(tree, name, old, new, told):
    tree.change(name, old, new)
    done = tree.build()
    assert done.returncode == 1 and told in done.stderr and done.stdout == "", done
