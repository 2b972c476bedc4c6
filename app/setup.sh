# shellcheck shell=bash disable=SC2034,SC2154
# Sourced by app/run, tests/run and .ci/run: what the project needs from Debian, and how it is configured and built.
# The caller has set `root` (the checkout) and may set `torch` (a folder with another libtorch).

build_packages=(cmake ninja-build g++ ccache lld pkg-config qt6-base-dev qt6-svg-dev libqcustomplot-dev libboost-dev
    nlohmann-json3-dev libsentencepiece-dev libpcre2-dev libicu-dev fonts-dejavu-core)
torch_packages=(libtorch-dev libopenblas0-pthread)
test_packages=(xvfb poppler-utils librsvg2-bin locales)

fail() {
    echo "$(basename "$0"): $*" >&2
    exit 1
}

# install_missing PACKAGE…: only what is not there; nothing, and no question, when all is.
install_missing() {
    if ! command -v dpkg-query >/dev/null; then
        echo "This is not a Debian system: taking for granted that it has the like of: $*" >&2
        return
    fi
    local package missing=() as_root=()
    for package in "$@"; do
        [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
    done
    [ ${#missing[@]} -eq 0 ] && return
    echo "Installing from Debian: ${missing[*]}"
    local apt=(apt-get -y -q --no-install-recommends --no-remove -o DPkg::Lock::Timeout=300)
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || fail "these packages are missing and there is no sudo; as root, run: apt-get install ${missing[*]}"
        as_root=(sudo)
    fi
    "${as_root[@]}" "${apt[@]}" update </dev/null || echo "The package lists could not be refreshed; trying with those that are there." >&2
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive "${apt[@]}" install "${missing[@]}" </dev/null ||
        fail "Debian's packages could not be installed; the lines above say why."
}

# needed_packages: what a build takes; libtorch from Debian only where no other is given.
needed_packages() {
    echo "${build_packages[@]}"
    [ -n "${torch:-}" ] || echo "${torch_packages[@]}"
}

# configure DIR [CMAKE-ARGUMENT…]
configure() {
    local dir=$1 fresh=() cache=$1/CMakeCache.txt
    shift
    export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1
    # A folder configured for another checkout or another libtorch keeps paths of it: begin anew.
    if [ -f "$cache" ] && { ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$cache" ||
        [ "$(sed -n 's/^CMAKE_PREFIX_PATH:[A-Z]*=//p' "$cache")" != "${torch:-}" ]; }; then
        fresh=(--fresh)
    fi
    cmake "${fresh[@]}" -S "$root" -B "$dir" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER_LAUNCHER=ccache \
        -DCMAKE_PREFIX_PATH="${torch:-}" "$@"
}

# build DIR [TARGET…]: as many jobs as there are cores, but no more than one for each 1.5 GB (a file with torch takes 1).
build() {
    local dir=$1 cores memory jobs
    shift
    cores=$(nproc)
    memory=$(awk '/^MemAvailable/ {print int($2 / 1500000)}' /proc/meminfo)
    jobs=$((memory < cores ? (memory < 1 ? 1 : memory) : cores))
    CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1 cmake --build "$dir" -j "$jobs" ${1:+--target "$@"}
}
