"""The index of the search, which lunr.js reads in the browser: made here by lunr.py, so that pages need no server and load no text twice."""

import functools
import json
import os
import re
import sys
import unicodedata
from html import unescape
from pathlib import Path

PREFIXES = [*filter(None, os.environ.get("CMAKE_PREFIX_PATH", "").split(":")), "/usr"]


def installed(path):
    """A file of a package, or nothing."""
    return next((file for file in (Path(prefix) / path for prefix in PREFIXES) if file.is_file()), None)


SCRIPT = installed("share/javascript/lunr/lunr.min.js")
sys.path += [f"{prefix}/lib/python3/dist-packages" for prefix in PREFIXES]
sys.modules.setdefault("nltk", None)  # lunr.py would import it for other languages, which takes a second
try:
    from lunr import lunr
    from lunr.builder import Builder
    from lunr.stemmer import stemmer
    from lunr.stop_word_filter import stop_word_filter
    from lunr.token import Token
except ImportError:
    lunr = None
MISSING = "" if lunr and SCRIPT else "the pages have no search: it needs lunr (Debian's packages python3-lunr and libjs-lunr)"
# What a page counts in comparison with a rung's, by how its address begins. A definition counts more than any page.
WEIGHTS = {"kernels": 4, "lessons": 4, "parallel": 3, "start": 3, "index": 3, "lab_": 3}
DEFINITION, ITEM, OF_API, OF_SOURCE = 8, 1.5, 1.5, .3  # of a word, of something in a text, of a header or class, of another file


@functools.cache
def stem(word):
    """As stem() in pages.js; the two libraries differ at the end of words like "days" and "try"."""
    token = Token(re.sub(r"is(?=(e[sdr]?|ing|ations?)$)", "iz", word))
    return re.sub("y$", "i", str(stemmer(token))) if stop_word_filter(token) else ""


def stems_of(text):
    """What is looked up of a text: each word without accents and in one spelling, and of names of code also their parts."""
    plain = "".join(one for one in unicodedata.normalize("NFD", text) if not unicodedata.combining(one))
    out = []
    for word in re.findall(r"\w[^\s,;()<>\[\]]*", plain):
        parts = re.findall(r"\d+(?:\.\d+)+|[^\W_]+", word)
        camels = [camel for part in parts for camel in re.findall(r"[A-Z]?[a-z0-9]{2,}|[A-Z0-9]{3,}(?![a-z])", part)]
        out += filter(None, (stem(one.lower()) for one in dict.fromkeys([re.sub(r"\W+$", "", word), *parts, *camels])))
    return out


def text_of(html):
    """The words of a piece of a page, without listings."""
    html = re.sub(r"(?s)<(pre|annotation)\b.*?</\1>", " ", html)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", re.sub(r"</?(?:a|code|em|strong|span|m\w+)\b[^>]*>", "", html))).split())


def sections_of(address, title, body, sections):
    """(address with its anchor, title of the page, title of the section, text, weight) of each section and each definition."""
    titles = {anchor: words for _, anchor, words in sections}
    weight = next((weight for begin, weight in WEIGHTS.items() if address.startswith(begin)), 1)
    first, *parts = re.split(r'(?s)<h[23] id="([^"]+)".*?</h[23]>', body)
    if text_of(first):
        yield address, title, "", text_of(first), 1.25 * weight  # the page itself
    for anchor, part in zip(parts[::2], parts[1::2]):
        yield f"{address}#{anchor}", title, titles.get(anchor, ""), text_of(part), weight
    for pattern, weight in ((r'<a id="([^"]+)"></a>\s*<(?:strong|em|code)>(.*?)</(?:strong|em|code)>(.*?)(?=</li>|</tr>|<a id=)', DEFINITION),
                            (r'<td id="([^"]+)"[^>]*>(.*?)</td>(.*?)</tr>', ITEM)):
        for anchor, word, more in re.findall(pattern, body, re.DOTALL):
            yield f"{address}#{anchor}", title, text_of(word), text_of(more).removeprefix(": "), weight


def write(folder, sections):
    """Writes search-index.js: the sections as they are shown, and the index of lunr.js."""
    fields = [{"field_name": "title", "boost": 3}, {"field_name": "heading", "boost": 8}, "text"]
    # The anchor of a definition is its word where the heading is code: f<<<blocks, threads>>>(...) is #launch.
    documents = [({"id": number, "title": stems_of(title), "text": stems_of(text),
                   "heading": stems_of(f"{heading or title} {address.partition('#')[2] if weight == DEFINITION else ''}")}, {"boost": weight})
                 for number, (address, title, heading, text, weight) in enumerate(sections)]
    index = lunr("id", fields, documents, builder=Builder()).serialize()
    text = json.dumps([one[:4] for one in sections], ensure_ascii=False, separators=(",", ":"))
    (folder / "search-index.js").write_text(f"const searchSections = {text};\nconst searchIndex = {json.dumps(index, separators=(',', ':'))};\n",
                                            encoding="utf-8")
