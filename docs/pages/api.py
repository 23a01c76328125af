"""The interface of common/, one page per header: Doxygen reads and checks the comments and writes XML, which becomes HTML here."""

import re
import subprocess
from html import escape
from xml.etree import ElementTree

from prose import Fault
from repository import api_page

# A name may say it all: fields, functions without arguments, operators, copies and moves, destructors.
NEEDS_NO_WORDS = re.compile(r"operator|&&|=\s*delete|=\s*default|~|\(\)( const| noexcept)*$")
KINDS = {"simplesect": {"return": "Returns", "pre": "Precondition", "post": "Afterwards", "note": "Note", "warning": "Warning",
                        "see": "See also", "par": ""},
         "parameterlist": {"param": "Arguments", "templateparam": "Types", "exception": "Errors", "retval": "Returns"}}
TAGS = {"computeroutput": "code", "emphasis": "em", "bold": "strong", "itemizedlist": "ul", "orderedlist": "ol", "listitem": "li",
        "subscript": "sub", "superscript": "sup"}
TEXTS = {"ndash": "–", "mdash": "—", "nonbreakablespace": "\u00a0", "linebreak": "<br>"}


def run_doxygen(repository, scratch):
    read = [folder for folder in ("common", "labs", "tests/support") if (repository.root / folder).is_dir()]
    settings = (repository.root / "docs/pages/Doxyfile").read_text(encoding="utf-8")
    settings += f'\nINPUT = {" ".join(read)}\nOUTPUT_DIRECTORY = "{scratch}"\n'
    try:
        run = subprocess.run(["doxygen", "-"], input=settings, cwd=repository.root, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                             text=True)
    except FileNotFoundError:
        raise Fault("doxygen is not installed") from None
    if run.returncode or run.stderr.strip():
        raise Fault(f"Doxygen found:\n{run.stderr.strip()}")
    return scratch / "xml"


class Member:
    def __init__(self, node, header, line):
        self.node, self.header, self.line = node, header, line
        self.id, self.kind = node.get("id"), node.get("kind")
        self.name = node.findtext("compoundname") or node.findtext("qualifiedname") or node.findtext("name")
        self.members = []

    @property
    def documented(self):
        return any("".join(self.node.find(part).itertext()).strip() for part in ("briefdescription", "detaileddescription"))

    @property
    def declaration(self):
        node = self.node
        if self.kind in ("class", "struct", "union"):
            return f"{self.template}{self.kind} {self.name}"
        if self.kind == "define":
            names = [param.findtext("defname") or "" for param in node.findall("param")]
            return f"#define {node.findtext('name')}" + (f"({', '.join(names)})" if names else "")
        if self.kind == "enum":
            return f"enum class {self.name} {{ {', '.join(value.findtext('name') for value in node.findall('enumvalue'))} }}"
        words = f"{node.findtext('definition') or self.name}{node.findtext('argsstring') or ''}"
        if self.kind == "variable" and (initial := node.findtext("initializer") or "") and len(initial) < 60:
            words += f" {initial}"
        return re.sub(r"(?<![<-]) >(?=[ >,)&*:]|$)", ">", re.sub(r"(?<=\w)< (?=\S)", "<", f"{self.template}{words}"))

    @property
    def template(self):
        params = self.node.find("templateparamlist")
        if params is None:
            return ""
        names = [" ".join(filter(None, ("".join(p.find("type").itertext()), p.findtext("declname")))) for p in params.findall("param")]
        return f"template <{', '.join(names)}> "


class Api:
    """What Doxygen read of common/include, by header."""

    def __init__(self, repository, xml):
        self.repository, self.headers = repository, {path: [] for path in repository.headers()}
        self.address, self.names, self.about = {}, {}, {}
        self.found, self.by_id = set(), {}  # members that have been read; classes
        classes = []
        for file in sorted(xml.glob("*.xml")):
            if not re.match(r"(namespacegpulab|(class|struct|union)gpulab_1_1|.*_8hpp\.xml$)", file.name):
                continue
            for compound in ElementTree.parse(file).getroot().findall("compounddef"):
                self.read(compound, classes)
        for one in classes:
            outer = self.names.get(one.name.rpartition("::")[0])
            (self.by_id[outer].members if outer in self.by_id else self.headers[one.header]).append(one)
        for members in self.headers.values():
            members.sort(key=lambda one: one.line)

    def read(self, compound, classes):
        kind, location = compound.get("kind"), compound.find("location")
        if kind == "file":
            path = location.get("file")
            if path in self.headers:
                self.about[path] = compound
                self.address[compound.get("id")] = api_page(path)
                for node in compound.iter("memberdef"):
                    self.add(node, self.headers[path])
        elif kind == "namespace":
            if "detail" not in compound.findtext("compoundname").split("::"):
                for node in compound.iter("memberdef"):
                    self.add(node, None)
        elif kind in ("class", "struct", "union") and location.get("file") in self.headers:
            name = compound.findtext("compoundname")
            if "detail" in name.split("::") or compound.get("prot") == "private":
                return
            one = Member(compound, location.get("file"), int(location.get("line")))
            self.name(one)
            self.by_id[one.id] = one
            classes.append(one)
            for section in compound.findall("sectiondef"):
                for node in section.findall("memberdef"):
                    if node.get("prot") != "private":
                        self.add(node, one.members)
            one.members.sort(key=lambda member: member.line)

    def add(self, node, members):
        location = node.find("location")
        header = location.get("declfile") or location.get("file")
        if header not in self.headers or node.get("id") in self.found or node.findtext("name").startswith("@"):
            return
        self.found.add(node.get("id"))
        one = Member(node, header, int(location.get("declline") or location.get("line")))
        self.name(one)
        (self.headers[header] if members is None else members).append(one)

    def name(self, one):
        self.address[one.id] = f"{api_page(one.header)}#{one.id}"
        self.names.setdefault(one.name, one.id)

    @property
    def api_names(self):
        """{gpulab::name: address}"""
        return {name: self.address[found] for name, found in self.names.items() if name.startswith("gpulab::")}

    def without_words(self):
        """What has no comment although its name does not say it all."""
        def walk(members):
            for one in members:
                if not one.documented and one.kind not in ("variable", "friend", "typedef", "enumvalue"):
                    if not (NEEDS_NO_WORDS.search(one.declaration) or one.name.startswith("CL_")):
                        yield f"{one.header}:{one.line}: {one.name} has no comment"
                yield from walk(one.members)
        return [fault for members in self.headers.values() for fault in walk(members)]

    # HTML

    def words(self, node):
        """What stands in a description, in HTML."""
        if node is None:
            return ""
        return escape(node.text or "") + "".join(self.element(one) + escape(one.tail or "") for one in node)

    def element(self, node):
        tag, inside = node.tag, None
        if tag in TEXTS:
            return TEXTS[tag]
        if tag == "para":
            return self.para(node)
        if tag == "ref":
            address, inside = self.address.get(node.get("refid")), self.words(node)
            return f'<a href="{address}">{inside}</a>' if address else inside
        if tag == "simplesect":
            return self.labelled(KINDS[tag].get(node.get("kind"), node.get("kind").title()), self.words(node))
        if tag == "parameterlist":
            rows = "".join(f"<dt><code>{', '.join(self.words(name) for name in item.iter('parametername'))}</code></dt>"
                           f"<dd>{self.words(item.find('parameterdescription'))}</dd>" for item in node.findall("parameteritem"))
            return self.labelled(KINDS[tag].get(node.get("kind"), node.get("kind").title()), f"<dl>{rows}</dl>")
        if tag in ("verbatim", "preformatted", "programlisting"):
            return f'<pre tabindex="0"><code>{escape("".join(node.itertext()))}</code></pre>'
        if tag == "ulink":
            return f'<a href="{escape(node.get("url"), quote=True)}">{self.words(node)}</a>'
        if tag == "formula":
            return f"<code>{escape(node.text.strip('$ '))}</code>"
        name = TAGS.get(tag)
        if not name:
            raise Fault(f"a comment in common/ has Doxygen's element '{tag}', which the pages do not know")
        return f"<{name}>{self.words(node)}</{name}>"

    def para(self, node):
        """A paragraph; lists and sections stand in no <p>."""
        blocks, out, held = ("parameterlist", "simplesect", "itemizedlist", "orderedlist", "verbatim", "programlisting"), "", ""

        def flush():
            nonlocal out, held
            out += f"<p>{held.strip()}</p>" if held.strip() else ""
            held = ""

        held = escape(node.text or "")
        for one in node:
            if one.tag in blocks:
                flush()
                out += self.element(one)
            else:
                held += self.element(one)
            held += escape(one.tail or "")
        flush()
        return out

    def labelled(self, label, inside):
        return f'<div class="section"><p class="label">{label}</p>{inside}</div>' if label else inside

    def described(self, node):
        return "".join(self.words(node.find(part)) for part in ("briefdescription", "detaileddescription"))

    def member(self, one, level=2):
        short = one.name.rpartition("::")[2]
        declaration = re.sub(r"\bgpulab::(?:\w+::)*", "", one.declaration) if level == 3 else one.declaration
        inside = "".join(self.member(member, 3) for member in one.members)
        return (f'<section class="member"><h{level} id="{one.id}">{escape(short)}</h{level}>'
                f'<pre class="declaration" tabindex="0" role="group" aria-label="declaration of {escape(short)}"><code>{escape(declaration)}'
                f"</code></pre>{self.described(one.node)}{inside}</section>")

    def page(self, path):
        """A header's page: its HTML, its sections for the contents list."""
        about = self.about.get(path)
        members = self.headers[path]
        html = self.described(about) if about is not None else ""
        html += f'<p>Declared in <code>{path.removeprefix("common/include/")}</code>.</p>'
        return html + "".join(map(self.member, members)), [(2, one.id, one.name.rpartition("::")[2]) for one in members]

    def brief(self, path):
        about = self.about.get(path)
        return "".join(about.find("briefdescription").itertext()).strip() if about is not None else ""
