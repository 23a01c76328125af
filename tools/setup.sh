# Installing what the labs need. Sourced by ../lab, which sets root and offers say, die, have and quietly.
# shellcheck shell=bash disable=SC2034,SC2154,SC1091

# What is needed, as package=proof. The proof is a command, or a file that the package brings.
to_build="build-essential=c++ cmake=cmake ninja-build=ninja git=git ca-certificates=/etc/ssl/certs/ca-certificates.crt
    libcatch2-dev=/usr/include/catch2/catch_version_macros.hpp libcli11-dev=/usr/include/CLI/CLI.hpp
    nlohmann-json3-dev=/usr/include/nlohmann/json.hpp libpng-dev=/usr/include/png.h
    libfmt-dev=/usr/include/fmt/core.h opencl-headers=/usr/include/CL/cl.h
    opencl-clhpp-headers=/usr/include/CL/opencl.hpp ocl-icd-opencl-dev=/usr/lib/*/libOpenCL.so
    pocl-opencl-icd=/etc/OpenCL/vendors/pocl.icd oclgrind=oclgrind clinfo=clinfo"
to_document="doxygen=doxygen python3=python3 doxygen-awesome-css=/usr/share/doxygen-awesome-css
    libjs-mathjax=/usr/share/javascript/mathjax"
to_format="clang-format=clang-format"
to_plot="python3=python3 python3-matplotlib=/usr/lib/python3/dist-packages/matplotlib"
to_look="chromium=chromium" # the tests of the pages; Ubuntu has it as a snap only, which a test cannot drive

unavailable=$root/build/unavailable # packages this system cannot give; ./lab setup asks again, the others do not

# The packages, out of a list of package=proof, whose proof does not exist.
missing() {
    local pair proof
    for pair in "$@"; do
        proof=${pair#*=}
        if [[ $proof == /* ]]; then
            compgen -G "$proof" >/dev/null && continue
        else
            have "$proof" && continue
        fi
        grep -qsx "${pair%%=*}" "$unavailable" || echo "${pair%%=*}"
    done
}

as_root() { if [[ $(id -u) == 0 ]]; then "$@"; else sudo "$@"; fi; }
apt() { as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 "$@"; }

# The apt source of Debian's backports, made from the entry of the release itself: the same mirror and key.
# backports_entry RELEASE FILE: prints the entry in the form of FILE, or nothing when FILE does not name the release.
backports_entry() {
    if [[ $2 == *.sources ]]; then # paragraphs of fields
        awk -v RS= -v release="$1" '
            /(^|\n)Enabled: *no/ || !match($0, /(^|\n)Suites:[^\n]*/) { next }
            (substr($0, RSTART, RLENGTH) " ") ~ "[ \t]" release "[ \t]" {
                sub(/Types:[^\n]*/, "Types: deb")
                sub(/Suites:[^\n]*/, "Suites: " release "-backports")
                print
                exit
            }' "$2"
    else # one line each: deb [options] address release components
        awk -v release="$1" '
            $1 == "deb" && !/cdrom:/ {
                for (i = 3; i <= NF; i++) if ($i == release) { $i = release "-backports"; print; exit }
            }' "$2"
    fi
}

add_backports() { # when this is a Debian whose sources do not name its backports yet
    local release file entry added
    release=$(. /etc/os-release && [[ $ID == debian ]] && echo "${VERSION_CODENAME:-}") || return 0
    if apt-cache policy | grep -q "$release-backports"; then return 0; fi
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources}; do
        [[ -f $file ]] || continue
        entry=$(backports_entry "$release" "$file")
        [[ $entry ]] || continue
        added=/etc/apt/sources.list.d/gpulab-backports.${file##*.}
        say "adding $release-backports to the apt sources, for Catch2 ($added)"
        as_root tee "$added" <<<"$entry" >/dev/null
        if ! apt update >/dev/null 2>&1 </dev/null; then
            say "this mirror has no backports: taking them out again"
            as_root rm "$added"
        fi
        return 0
    done
}

# The version of Catch2 to install: the first that is 3.7.1 or newer (an older one can report a failure as a skip).
recent_catch2() {
    local version
    for version in $(apt-cache madison libcatch2-dev 2>/dev/null | awk '{ print $3 }'); do
        if dpkg --compare-versions "$version" ge 3.7.1; then echo "$version" && return; fi
    done
}

# install PACKAGE...: with apt, saying what. Elsewhere stops and names what is needed, unless a build can do without.
install() {
    local package version packages=()
    if ! have apt-get || [[ ${GPULAB_INSTALL:-} == no ]]; then
        for package in c++ cmake ninja git; do
            have $package || die "'$package' is not installed. Without apt, install by hand: a C++20 compiler, CMake >= 3.25," \
                "Ninja, git; for OpenCL also headers, loader and a device. (Debian's names: $*)"
        done
        say "not installed: $*. Going on: CMake fetches the libraries; back ends that lack something are left out"
        mkdir -p "$root/build" && printf '%s\n' "$@" >>"$unavailable"
        return
    fi
    [[ $(id -u) == 0 ]] || have sudo ||
        die "needed: $*. Installing takes root or sudo; GPULAB_INSTALL=no goes on with what is installed"
    say "not installed yet: $*"
    say "reading the package lists (apt-get update)"
    quietly apt update
    if [[ " $* " == *" libcatch2-dev "* && ! $(recent_catch2) ]]; then add_backports; fi
    for package in "$@"; do
        if [[ $package == libcatch2-dev ]]; then
            version=$(recent_catch2)
            if [[ $version ]]; then packages+=("$package=$version") && continue; fi
            say "no Catch2 >= 3.7.1 in the apt sources: CMake will fetch it"
        elif apt-cache show "$package" >/dev/null 2>&1; then
            packages+=("$package") && continue
        else
            say "no $package in the apt sources (on Ubuntu, is 'universe' on?): going on without"
        fi
        mkdir -p "$root/build" && echo "$package" >>"$unavailable"
    done
    [[ ${#packages[@]} -gt 0 ]] || return 0
    say "installing, and what they depend on: ${packages[*]}"
    quietly apt install -y --no-install-recommends "${packages[@]}"
}
