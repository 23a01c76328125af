"""Source code in HTML: highlighted by Pygments, with numbers of lines. The only links in it are those of included files and of
names in namespace gpulab, which are surely right."""

import difflib
import functools
import re
from html import escape

from pygments import lex
from pygments.lexers import BashLexer, CppLexer, CudaLexer
from pygments.token import Comment, Keyword, Name, Number, String, Token

CLASSES = ((Comment.Preproc, "cp"), (Comment, "c"), (Keyword, "k"), (String, "s"), (Number, "m"), (Name.Builtin, "nb"))
INCLUDE = re.compile(r'^(\s*#\s*include\s*)(["<])([^">]+)([">])')
FUNCTION = re.compile(r"^(?:(?://|template|#pragma unroll).*\n)*(?!//|\s).*__(?:global|device)__(?:.*[;}]$|.*(?:\n.*)*?\n})", re.MULTILINE)
API_NAME = re.compile(r"\bgpulab::(?:\w+::)*\w+")


class KernelLexer(CppLexer):
    """C++ with further words: Pygments' own lexer of CUDA knows those of C only."""
    keywords, builtins = set(), set()

    def get_tokens_unprocessed(self, text, *rest, **more):
        for at, kind, value in super().get_tokens_unprocessed(text, *rest, **more):
            known = Keyword if value in self.keywords else Name.Builtin if value in self.builtins else kind
            yield at, known if kind in Name else kind, value


class OpenClLexer(KernelLexer):
    keywords = set("kernel global local constant private __kernel __global __local __constant uint ulong uchar ushort size_t "
                   "float2 float4 float8 float16 double2 double4 int2 int4 uint4 uchar4 uchar16".split())


class CudaCppLexer(KernelLexer):
    keywords = {*CudaLexer.function_qualifiers, *CudaLexer.variable_qualifiers, *CudaLexer.vector_types, "__launch_bounds__", "__grid_constant__"}
    builtins = {*CudaLexer.variables, *CudaLexer.functions, "__syncwarp", "__shfl_sync", "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync"}


OPENCL, CUDA, CPP, BASH = (kind(stripnl=False) for kind in (OpenClLexer, CudaCppLexer, CppLexer, BashLexer))


@functools.cache
def class_of(token):
    return next((name for kind, name in CLASSES if token in kind), "") if token is not Token.Text else ""


@functools.cache  # many kernels stand on several pages
def highlighted(text, lexer):
    """The lines of the text, each in HTML."""
    lines = [""]
    for kind, value in lex(text + "\n", lexer):
        name = class_of(kind)
        for number, part in enumerate(value.split("\n")):
            if number:
                lines.append("")
            if part:
                lines[-1] += f'<span class="{name}">{escape(part)}</span>' if name else escape(part)
    return lines[:-1]


def box(inside, label, kind="listing"):
    """A frame that scrolls by itself; the keyboard can reach it."""
    return f'<div class="{kind}"><pre tabindex="0" role="group" aria-label="{escape(label, quote=True)}"><code>{inside}</code></pre></div>'


def code_block(text, language):
    """A block of code in a page."""
    looks_like_code = re.search(r"[;{]\s*(//.*)?$", text, re.MULTILINE) and not re.search(r"^\s*(\$ |\./lab)", text, re.MULTILINE)
    if language in ("c", "cpp", "cuda", "c++", "opencl") or (not language and looks_like_code):
        opencl = language == "opencl" or re.search(r"\b(kernel void|get_global_id)\b", text)
        lexer = OPENCL if opencl else CUDA
    elif language in ("bash", "sh"):
        lexer = BASH
    else:
        return box(escape(text), "code", "code")
    return box("\n".join(highlighted(text, lexer)), "code", "code")


def opening(text):
    """The comment that a file begins with, without its marks, and the number of its lines."""
    comment = re.match(r"(?!///)(?://.*\n)*|", text)[0]
    return re.sub("^// ?", "", comment.rstrip(), flags=re.MULTILINE), comment.count("\n")


def shown_lines(text, skip):
    """(number in the file, line, exercise) of what a page shows of a source: all but the opening comment, and the marks of exercises,
    of which only the words for the reader stay."""
    exercise, out = "", []
    for number, line in enumerate(text.rstrip("\n").split("\n"), 1):
        if number <= skip or not (out or line.strip()) or re.match(r" *//(\|| (END )?ANSWER\b)", line):
            continue
        begun = re.match(r"( *)// EXERCISE (.*)$", line)
        if begun:
            exercise, line = begun[2], f"{begun[1]}// Students write this in the exercise {begun[2]}:"
        ended = re.match(r"( *)// END EXERCISE", line)
        if ended:
            line = f"{ended[1]}// The end of the exercise."
        out.append((number, line, exercise))
        if ended:
            exercise = ""
    return out


class Listings:
    def __init__(self, repository):
        self.repository = repository

    def linked(self, path, line, html):
        """A line with links to the file that it includes, or to the names of the API in it."""
        include = INCLUDE.match(line)
        if include:
            address = self.repository.pages.get(self.repository.included(path, include[3]))
            if address and address != self.repository.pages.get(path):
                begin, opened, name, closed = map(escape, include.groups())
                return f'<span class="cp">{begin}</span><a href="{address}">{opened}{name}{closed}</a>{escape(line[include.end():])}'
            return html
        for name in dict.fromkeys(API_NAME.findall(line.partition("//")[0])):
            address = self.repository.api_names.get(name)
            if address:  # only where the name is not broken up by the colours
                html = re.sub(rf"(?<![\w:]){re.escape(name)}(?![\w:])", lambda m: f'<a href="{address}">{m[0]}</a>', html)
        return html

    def lines(self, path, shown):
        lexer = OPENCL if path.endswith(".cl") else CUDA if path.endswith((".cu", ".cuh")) else CPP
        colours = highlighted("\n".join(line for _, line, _ in shown), lexer)
        return "\n".join('<span%s data-n="%s">%s</span>' % (exercise and ' class="exercise"', number, self.linked(path, line, html))
                         for (number, line, exercise), html in zip(shown, colours))

    def file(self, path):
        """A whole file but for its opening comment."""
        text = (self.repository.root / path).read_text(encoding="utf-8")
        return box(self.lines(path, shown_lines(text, opening(text)[1])), path, "listing numbered")

    def kernels(self, path):
        """What runs on the device: of a .cl file all, of a CUDA file its __global__ and __device__ functions."""
        text = (self.repository.root / path).read_text(encoding="utf-8")
        shown = shown_lines(text, opening(text)[1])
        if not path.endswith(".cl"):
            shown = device_functions(shown)
        if not shown:
            return "<p>The kernels stand in files that the source includes.</p>"
        return box(self.lines(path, shown), f"kernels of {path}", "listing numbered")

    def difference(self, before, after):
        """How a file differs from another: HTML, lines that came, lines that went."""
        texts = [self.repository.root.joinpath(path).read_text(encoding="utf-8") for path in (before, after)]
        old, new = ([line for _, line, _ in shown_lines(text, opening(text)[1])] for text in texts)
        out, came, gone = [], 0, 0
        for line in list(difflib.unified_diff(old, new, n=2, lineterm=""))[3:]:
            kind = {"+": "came", "-": "gone", "@": "place"}.get(line[:1], "")
            came, gone = came + (kind == "came"), gone + (kind == "gone")
            line = "…" if kind == "place" else line
            out.append(f'<span class="{kind}">{escape(line)}</span>' if kind else escape(line))
        return box("\n".join(out), f"what differs between {before} and {after}", "listing difference"), came, gone


def device_functions(shown):
    """The lines of the functions for the device at the outermost level, with the comments before them."""
    text, out = "\n".join(line for _, line, _ in shown), []
    for function in FUNCTION.finditer(text):
        begin, end = (text.count("\n", 0, at) for at in function.span())
        out += [("", "", "")] * bool(out) + shown[begin:end + 1]
    return out
