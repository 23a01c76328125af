#!/usr/bin/env bash
# What this machine can do for the labs, in plain words; for each missing thing what it costs and how to get it.
# Run it as ./lab doctor. It only looks: it installs nothing, and missing things are no failure.
# shellcheck disable=SC1091
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit # from a folder that may be gone

. "$root/tools/setup.sh"
line() { printf '%-8s %-17s %s\n' "$1" "$2" "$3" || exit; }
found() { line ok "$1" "$2"; }
absent() { # absent WHAT COST HOW
    line missing "$1" "$2"
    line "" "" "-> $3"
}
version_of() { "$@" --version 2>/dev/null | head -n 1; }
program() { # program WHAT PROGRAM COST HOW
    if have "$2"; then found "$1" "$(version_of "$2")"; else absent "$1" "$3" "$4"; fi
}

system=$(uname -srm)
[[ ! -r /etc/os-release ]] || system="$(. /etc/os-release && echo "${PRETTY_NAME:-}"), $system"
echo "$system, $(getconf _NPROCESSORS_ONLN) CPU threads" || exit
echo

echo "To build"
if have dpkg && [[ $(dpkg --audit 2>/dev/null) ]]; then
    absent packages "an installation was interrupted, so apt refuses to install anything" "sudo dpkg --configure -a"
fi
program compiler c++ "nothing can be built" "./lab setup"
if have cmake && at_least "$(needed CMake)" "$(version_of cmake)"; then found CMake "$(version_of cmake)"; else
    absent CMake "nothing can be built: $(needed CMake) or newer is needed" "./lab setup; where that gives an older one: cmake.org"
fi
program Ninja ninja "the presets do not work" "./lab setup; or cmake -S . -B build/make, which uses make"

# The CUDA compiler and the libraries: what CMake finds, with the CMAKE_PREFIX_PATH of the environment or of the build.
cache=$root/build/default/CMakeCache.txt
scratch=$(mktemp -d 2>&1) || die "$scratch (TMPDIR names another folder)"
options=()
if have ninja; then options+=(-G Ninja); fi
if [[ -f $cache ]]; then
    prefixes=$(sed -n 's/^CMAKE_PREFIX_PATH:[A-Z]*=//p' "$cache")
    [[ ! $prefixes ]] || options+=("-DCMAKE_PREFIX_PATH=$prefixes")
fi
libraries=""
if have cmake && have c++ && cmake -S "$root/tools/doctor" -B "$scratch" ${options[@]+"${options[@]}"} >"$scratch/log" 2>&1; then
    libraries=$(grep -E '^(found|missing)\|' "$scratch/log")
fi
rm -rf "$scratch"
while IFS='|' read -r state library where package; do
    fetched=$root/build/default/_deps/$(tr '[:upper:]' '[:lower:]' <<<"$library")-src
    if [[ $library == "CUDA toolkit" && $state == missing ]]; then
        absent "$library" "CUDA variants are left out of the programs and listed as skipped" "$where"
    elif [[ $state == found ]]; then
        found "$library" "$where"
    elif [[ $library == "OpenCL loader" || $library == "OpenCL headers" ]]; then
        absent "$library" "OpenCL variants are left out of the programs and listed as skipped" "./lab setup, or the package $package"
    elif [[ -d $fetched ]]; then
        found "$library" "fetched by CMake, $fetched"
    elif [[ $library ]]; then
        absent "$library" "${where:+$where: }CMake fetches it from GitHub when it configures" "./lab setup, or the package $package"
    fi
done <<<"$libraries"
[[ $libraries ]] || absent libraries "CMake could not look for them: it needs a compiler and Ninja or make" "./lab setup"

echo
echo "To run"
gpu=no
smi=""
if have nvidia-smi; then
    smi=$(ask nvidia-smi -L 2>&1) || smi+="${smi:+, }exit code $?; 124 means no answer"
fi
if grep -q '^GPU' <<<"$smi"; then
    gpu=yes
    found "NVIDIA driver" "$(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -n 1)"
    while IFS=, read -r index name capability memory pci; do # in the order of the programs, with the places that they name
        [[ ! ${CUDA_VISIBLE_DEVICES:-} ]] || index="?" # programs count only these
        found GPU "cuda:$index,$name, compute capability$capability,$memory, at $(tr '[:upper:]' '[:lower:]' <<<"${pci# 0000}")"
    done < <(nvidia-smi --query-gpu=index,name,compute_cap,memory.total,pci.bus_id --format=csv,noheader)
elif [[ $smi ]]; then
    absent "NVIDIA driver" "nvidia-smi sees no GPU (${smi:0:300})" "where there is one: install its driver, or restart the computer"
fi
if [[ $gpu == no && $libraries == *"found|CUDA toolkit"* ]]; then
    found "CUDA emulator" "no NVIDIA GPU: CUDA variants run in the emulator, with results and counts, but without times"
elif [[ $gpu == no ]]; then
    absent "NVIDIA GPU" "CUDA variants are skipped; CPU and OpenCL variants run" \
        "./lab setup --cuda: then they run in an emulator, without times"
fi

opencl=""
if have clinfo; then
    opencl=$(ask clinfo -l 2>/dev/null | awk '/^Platform/ { platform = $0; sub(/^[^:]*: /, "", platform) }
                                          /Device #/ { sub(/^[^:]*: /, ""); print platform ": " $0 }') ||
        absent "OpenCL platform" "one does not work: clinfo ends with exit code $?; 124 means no answer" \
            "take its file out of /etc/OpenCL/vendors; ./lab run saxpy names it"
fi
if [[ $opencl ]]; then
    while IFS= read -r device; do found OpenCL "$device"; done <<<"$opencl"
    if [[ $gpu == yes && $(uname -r) == *icrosoft* ]]; then
        absent "OpenCL on GPU" "OpenCL variants run on the CPU only: NVIDIA has no OpenCL for WSL" "CUDA variants run on the GPU"
    elif [[ $gpu == yes ]] && ! grep -qi nvidia <<<"$opencl"; then
        absent "OpenCL on GPU" "OpenCL variants run on the CPU only" \
            "echo libnvidia-opencl.so.1 | sudo tee /etc/OpenCL/vendors/nvidia.icd"
    fi
elif ! have clinfo; then
    absent clinfo "the doctor cannot say which OpenCL devices there are" "./lab setup"
else
    absent OpenCL "OpenCL variants are skipped" "./lab setup installs PoCL, which runs OpenCL on the CPU"
fi
program MPI mpirun "lab 09 cannot run as several processes (./lab run cg --ranks 4)" "./lab setup --all, or libopenmpi-dev and openmpi-bin"

echo
echo "To check and to read"
if have oclgrind; then found oclgrind "$(oclgrind --version | sed -n 's/^Oclgrind //p')"; else
    absent oclgrind "the tests that look for races and stray accesses in OpenCL kernels are skipped" \
        "./lab setup, which takes PyPI's where the system has no package (Debian 13)"
fi
if have compute-sanitizer; then found "compute-sanitizer" "$(command -v compute-sanitizer)"; else
    absent "compute-sanitizer" "no such checks of CUDA kernels" "it comes with the CUDA toolkit"
fi
if have doxygen && have pandoc; then found Doxygen "$(version_of doxygen), Pandoc $(version_of pandoc)$(! have dot || echo ", Graphviz")"; else
    absent Doxygen "or Pandoc: no pages; the READMEs of the labs can be read as they are" "./lab docs"
fi
program Chromium chromium "the tests that open the pages in a browser are skipped" "./lab setup --all (on Debian)"
format=""
for program in clang-format-14 clang-format; do
    format=$(version_of "$program")
    if [[ $format == *"version 14."* ]]; then break; fi
done
if [[ $format == *"version 14."* ]]; then found clang-format "$format"; else
    absent clang-format "the format check cannot run: it needs version 14${format:+, and this is $format}" \
        "./lab setup --all (on Debian 12); elsewhere: pip install clang-format==14.0.6"
fi
module() { # module NAME PACKAGE COST: the first Python that has a module; the system's may come second
    local python version
    for python in python3 /usr/bin/python3; do
        version=$("$python" -c "import $1; print($1.__version__)" 2>/dev/null) && found "$1" "$version" && return
    done
    absent "$1" "$3" "./lab setup --all, or the package $2"
}
module matplotlib python3-matplotlib "./lab plot cannot draw results"
module pytest python3-pytest "the tests of tools and pages are skipped"

echo
echo "To hand out and grade exercises"
if have python3 && at_least 3.11 "$(version_of python3)"; then found Python "$(version_of python3)"; else
    absent Python "no hand-outs and no grading: 3.11 or newer is needed" "./lab grade installs the system's"
fi
if have bwrap && fault=$(bwrap --unshare-all --ro-bind / / true 2>&1); then
    found bubblewrap "$(version_of bwrap)"
elif have bwrap; then
    how="run ./lab grade as root"
    if [[ $(PATH=$PATH:/usr/sbin:/sbin sysctl -n kernel.apparmor_restrict_unprivileged_userns 2>/dev/null) == 1 ]]; then
        how="AppArmor forbids it here: sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0; or $how"
    fi
    absent bubblewrap "it does not work (${fault%%$'\n'*}), so only root can keep submissions apart, and less strictly" "$how"
else
    absent bubblewrap "only root can keep submissions apart, and less strictly" "./lab grade installs it, or the package bubblewrap"
fi
exit 0
