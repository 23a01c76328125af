"""The pages of the API, which Doxygen makes: runs it, with links to the pages of the rungs, and reads where it puts what."""

import re
import shutil
import subprocess
from xml.etree import ElementTree

from prose import Fault

# A name may say it all: fields, functions without arguments, operators, copies and moves, destructors.
NEEDS_NO_WORDS = re.compile(r"Member (CL_|.*(operator|&&|=\s*delete|=\s*default|~|\(\)( const| noexcept)* \(function\))|.*\((variable|friend|typedef|enumvalue)\))"
                            r"|::detail\b")


class Doxygen:
    """What Doxygen makes of common, labs and tests/support."""

    def __init__(self, repository):
        self.root, self.build = repository.root, repository.root / "build"
        self.build.mkdir(exist_ok=True)
        self.faults = self.without_words(repository.headers())
        folders = " ".join(one for one in ("common", "labs", "tests/support", "docs/lessons/programs") if (self.root / one).is_dir())
        (self.build / "rungs.dox").write_text(self.about(repository, self.classes()), encoding="utf-8")
        layout = self.run("-l", "-")
        (self.build / "layout.xml").write_text(layout.replace("<navindex>", '<navindex><tab type="user" url="../index.html" title="Labs and lessons"/>'),
                                               encoding="utf-8")
        shutil.rmtree(self.build / "api", ignore_errors=True)
        self.run("-", INPUT=f"{folders} build/rungs.dox", FILE_PATTERNS="*.hpp *.cpp *.cu *.cuh *.cl", STRIP_FROM_PATH=". build", USE_MDFILE_AS_MAINPAGE="",
                 USE_MATHJAX="NO", HAVE_DOT="YES" if shutil.which("dot") else "NO", LAYOUT_FILE="build/layout.xml")
        self.names, self.files = {}, {}  # {name that common/include gives to labs: address}, {path: address}
        words = set(re.findall(r"\w+", "".join((self.root / header).read_text(encoding="utf-8") for header in repository.headers())))
        for compound in ElementTree.parse(self.build / "api.tag").getroot():
            name, page = compound.findtext("name"), f"api/{compound.findtext('filename').removesuffix('.html')}.html"
            if compound.get("kind") == "file":
                self.files[(compound.findtext("path") + name).removeprefix(f"{self.root}/")] = page
            elif name.startswith("gpulab") and not re.search("::(detail|testing)|{", name):
                self.names.setdefault(name, page)
                for member in compound.findall("member"):
                    if member.findtext("name") in words:
                        anchor = f"api/{member.findtext('anchorfile').removesuffix('.html')}.html#{member.findtext('anchor')}"
                        self.names.setdefault(f"{name}::{member.findtext('name')}", anchor)

    def run(self, *arguments, **settings):
        text = (self.root / "Doxyfile").read_text(encoding="utf-8") + "".join(f"\n{key} = {value}" for key, value in settings.items())
        try:
            done = subprocess.run(["doxygen", *arguments], input=text, cwd=self.root, capture_output=True, text=True)
        except FileNotFoundError:
            raise Fault("doxygen is not installed") from None
        if done.returncode or done.stderr.strip() and "WARN_AS_ERROR" not in settings:
            raise Fault(f"Doxygen found:\n{done.stderr.strip()}")
        return done.stdout or done.stderr

    def classes(self):
        """The classes of common/include, without those inside others and those of namespaces detail."""
        found = {compound.findtext("name") for compound in ElementTree.parse(self.build / "words.tag").iterfind("compound")
                 if compound.get("kind") in ("class", "struct")}
        return sorted(name for name in found if name.rpartition("::")[0] not in found and not re.search("::detail::|[<{]", name))

    @staticmethod
    def about(repository, classes):
        """Comments for Doxygen: the main page, the page of each rung on that of its file, the rungs that use each file and class."""
        labs = "".join(f"\n- <a href='../lab_{lab.name}.html'>{lab.title}</a>: namespace {lab.name}" for lab in repository.labs)
        out = ["mainpage All sources\n<a href='../index.html'>Labs and lessons</a> are the pages for reading. Here is all code, by "
               f"<a href='annotated.html'>class</a> and by <a href='files.html'>file</a>. Namespace gpulab is what the labs share.\n{labs}"]
        for path, rung in repository.rung_of_file.items():
            out.append(f"file {path}\n@par Page of the rung\n<a href='../{rung.page}'>{rung.name}</a>")
        uses = {}
        for rung in repository.rungs:
            texts = {file.as_posix(): (repository.root / file).read_text(encoding="utf-8") for file in (rung.file, rung.kernel_file)}
            names = [f"file {repository.included(path, name)}" for path, text in texts.items() for name in re.findall(r'#include "([^"]+)"', text)]
            names += [f"class {name}" for name in classes if re.search(rf"\b{name.rpartition('::')[2]}\b", "".join(texts.values()))]
            for name in names:
                uses.setdefault(name, set()).add(rung)
        uses.pop("file None", None)
        for name, users in uses.items():
            listed = {lab.title: [f"<a href='../{rung.page}'>{rung.name}</a>" for rung in lab.rungs if rung in users] for lab in repository.labs}
            out.append(f"{name}\n@par Rungs that use it" + "".join(f"\n- {lab}: {', '.join(rungs)}" for lab, rungs in listed.items() if rungs))
        return "".join(f"/** @{one} */\n" for one in out)

    def without_words(self, headers):
        """What has no comment in common/include although its name does not say it all."""
        told = self.run("-", INPUT="common/include", EXTRACT_ALL="NO", EXTRACT_ANON_NSPACES="NO", GENERATE_HTML="NO", GENERATE_TAGFILE="build/words.tag",
                        HAVE_DOT="NO", WARN_IF_UNDOCUMENTED="YES", WARN_AS_ERROR="NO")
        faults, bare = [], r"^(?!\s*(?://|template)).*\n(?:\s*template <.*>\n)?.*\b(?:class|struct) (\w+)[^;{\n]*{};"
        for header in headers:  # of files, and of classes without members, Doxygen does not say it
            text = (self.root / header).read_text(encoding="utf-8")
            faults += [] if "/// @file" in text else [f"{header}: it does not say '@file'"]
            faults += [f"{header}: {name} has no comment" for name in re.findall(bare, text, re.MULTILINE)]
        return faults + [line.removeprefix(f"{self.root}/") for line in told.splitlines() if not NEEDS_NO_WORDS.search(line)]
