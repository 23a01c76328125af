"""What all tests in Python share."""

import importlib.machinery
import importlib.util
import os
import pathlib
import pty
import shutil
import subprocess
import sys
import tempfile

import pytest

pytest_plugins = ["judged_once"]
ROOT = pathlib.Path(__file__).resolve().parents[1]
os.environ["PATH"] += f":{ROOT}/.oclgrind/bin"  # as in tools/setup.sh
BUILD = pathlib.Path(os.environ.get("GPULAB_BUILD", ROOT / "build/default"))
LABS = [folder.name[3:] for folder in sorted((ROOT / "labs").glob("[0-9][0-9]_*"))]


@pytest.fixture
def scratch():
    """A folder that is gone after the test: those of pytest's tmp_path stay."""
    with tempfile.TemporaryDirectory() as folder:
        yield pathlib.Path(folder)


class Files:
    """A folder with files that a test makes up, by their paths in it."""

    def __init__(self, folder, files):
        self.folder = folder
        for name, text in files.items():
            self.write(name, text)

    def path(self, name):
        return self.folder / name

    def read(self, name):
        return self.path(name).read_text(encoding="utf-8")

    def write(self, name, text):
        self.path(name).parent.mkdir(parents=True, exist_ok=True)
        self.path(name).write_text(text, encoding="utf-8")

    def change(self, name, old, new):
        """Puts `new` in the place of the only `old`. The text before."""
        text = self.read(name)
        assert text.count(old) == 1, f"'{old}' is {text.count(old)} times in {name}"
        self.write(name, text.replace(old, new))
        return text

    def copy(self, *names, ignore=None):
        """The repository's files and folders of these names."""
        for name in names:
            self.path(name).parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, self.path(name), ignore=ignore)
            else:
                shutil.copy(ROOT / name, self.path(name))


def pytest_sessionfinish(session, exitstatus):
    """77 when all tests were skipped, which ctest shows as skipped (cmake/AddPythonTests.cmake)."""
    told = session.config.pluginmanager.get_plugin("terminalreporter").stats
    if exitstatus == 0 and "skipped" in told and "passed" not in told:
        session.exitstatus = 77


def built(name):
    """The path of a program of the build. Where it has not been built, the test is skipped."""
    path = BUILD / "bin" / name
    if not path.is_file():
        pytest.skip(f"{name} has not been built")
    return path


def module_of(path):
    """The module of a program in Python, whose name need not end with .py."""
    loader = importlib.machinery.SourceFileLoader(path.stem, str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(path.stem, loader))
    sys.modules[path.stem] = module  # where dataclasses look
    loader.exec_module(module)
    return module


def environment_with(changes):
    """This environment with changes; None takes a variable out. Programs of the labs measure the ceilings of their devices with
    less work, because nobody looks at these rates."""
    own = {"GPULAB_TEST_CEILINGS": "quick", **os.environ}
    return {name: str(value) for name, value in {**own, **changes}.items() if value is not None}


def run(*words, cwd=None, **environment):
    """Runs a command with nothing to read. What it printed and its exit code are in the result."""
    return subprocess.run([str(word) for word in words], cwd=cwd, env=environment_with(environment), text=True,
                          capture_output=True, stdin=subprocess.DEVNULL, check=False)


def passed(*words, **options):
    """The same, of a command that must end with 0."""
    done = run(*words, **options)
    assert done.returncode == 0, done
    return done


def refused(done, *words):
    """One line on stderr with these words, nothing on stdout, exit code 2."""
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1) and done.stderr.endswith("\n"), done
    assert not [word for word in words if word not in done.stderr], done


def on_terminal(*words, **environment):
    """What a command writes to a terminal, which must end with 0."""
    terminal, other_end = pty.openpty()
    process = subprocess.Popen([str(word) for word in words], env=environment_with({"TERM": "xterm", **environment}),
                               stdin=other_end, stdout=other_end, stderr=other_end)
    os.close(other_end)
    text = b""
    try:
        while part := os.read(terminal, 65536):
            text += part
    except OSError:  # how Linux says that nobody has the other end any more
        pass
    os.close(terminal)
    text = text.decode(errors="replace")
    assert process.wait() == 0, text
    return text
