#!/bin/bash
# The ways through the house, checked on the sources and on what was built: app -> widgets -> model -> compute, torch and
# SentencePiece each in one late module, QCustomPlot in one file.
#   layers.sh SOURCE BUILD [network]      `network`: the torch module was built
set -uo pipefail
source=$1 build=$2 network=${3:-}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
failures=0

wrong() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}

# files ROOM [EXCEPT]: C++ files of a room; EXCEPT is a folder below it
files() {
    [ -d "$1" ] || return 0
    find "$1" \( -name '*.h' -o -name '*.cpp' \) ${2:+-not -path "$1/$2/*"}
}

# forbid WHY PATTERN FILE…: no #include of PATTERN in any of the files
forbid() {
    local why=$1 pattern=$2 hits
    shift 2
    [ $# -eq 0 ] && return
    hits=$(grep -nHE "^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"]($pattern)" "$@")
    [ -z "$hits" ] || wrong "$why"$'\n'"$hits"
}

qt='Q[A-Z][A-Za-z]*[>/]|Qt[A-Z]|qt[a-z]+\.h|q[a-z]+\.h'
torch='torch/|ATen/|c10/|caffe2/'
widgets_of_qt='QtWidgets|QtGui|QtPrintSupport|QWidget|QApplication|QGuiApplication|QPainter|QImage|QPixmap|QColor|QFont'

check_includes() {
    local tree=$1 plot
    # shellcheck disable=SC2046
    {
        forbid "compute knows no Qt" "$qt" $(files "$tree/compute")
        forbid "torch only in compute/network" "$torch" $(files "$tree/compute" network) $(files "$tree/model") $(files "$tree/widgets") $(files "$tree/app")
        forbid "SentencePiece only in compute/text/spm" 'sentencepiece' $(files "$tree/compute" text/spm) $(files "$tree/model") $(files "$tree/widgets") $(files "$tree/app")
        forbid "compute includes nothing above it" '(model|widgets|app)/' $(files "$tree/compute")
        forbid "model includes nothing above it" '(widgets|app)/' $(files "$tree/model")
        forbid "model is QtCore only" "$widgets_of_qt" $(files "$tree/model")
        forbid "widgets includes nothing above it" 'app/' $(files "$tree/widgets")
        forbid "tests of compute and model link no widgets" '(widgets|app)/' $(files "$tree/tests/compute") $(files "$tree/tests/model")
        forbid "includes start at the root" '\.\./' $(files "$tree/compute") $(files "$tree/model") $(files "$tree/widgets") $(files "$tree/app") $(files "$tree/tests")
    }
    plot=$(grep -rlE '^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]qcustomplot' "$tree" --include='*.h' --include='*.cpp' --exclude-dir='build*')
    [ "$(printf '%s' "$plot" | grep -c .)" -le 1 ] || wrong "QCustomPlot is included in one file only"$'\n'"$plot"
    case $plot in '' | *.cpp) ;; *) wrong "QCustomPlot is included in a header: $plot" ;; esac
}

# without LIBRARY WHY PATTERN: ldd of it shows nothing like PATTERN
without() {
    local library=$1 why=$2 pattern=$3 needs
    [ -f "$library" ] || { wrong "$library was not built" && return; }
    needs=$(ldd "$library" 2>&1) || { wrong "ldd $library: $needs" && return; }
    needs=$(printf '%s\n' "$needs" | grep -E "$pattern")
    [ -z "$needs" ] || wrong "$why"$'\n'"$needs"
}

# Objects built for a wider instruction set must not lend inline code to the whole program: no weak symbols in them.
check_kernels() {
    local object weak
    tr '{}' '\n\n' <"$build/compile_commands.json" | grep -E -- '-mavx|-mfma|-march=' | sed -n 's/.* -o \([^ ]*\.o\) .*/\1/p' |
        while read -r object; do
            [ -f "$build/$object" ] || continue
            weak=$(nm -C "$build/$object" | grep -E ' [WVu] ')
            [ -z "$weak" ] || { echo "$object" && printf '%s\n' "$weak"; }
        done
}

# A check that cannot fail proves nothing: each rule first finds the fault planted for it.
self_test() {
    local tree planted=0 path line
    tree=$(mktemp -d)
    while read -r path line; do
        mkdir -p "$tree/$(dirname "$path")"
        echo "#include $line" >"$tree/$path"
        failures=0
        check_includes "$tree" >/dev/null
        [ "$failures" -eq 1 ] || { echo "FAIL: the rule against '$line' in $path found $failures faults" && planted=$((planted + 1)); }
        rm "$tree/$path"
    done <"$here/planted.txt"
    rm -r "$tree"
    failures=$planted
}

self_test
check_includes "$source"

qt_libraries='libQt' torch_libraries='libtorch|libc10' spm_libraries='libsentencepiece'
without "$build/bin/libcompute.so" "libcompute needs none of Qt, torch, libgomp, SentencePiece" \
    "$qt_libraries|$torch_libraries|libgomp|$spm_libraries"
without "$build/bin/counterpoint_spm.so" "the spm module needs no torch and no Qt" "$qt_libraries|$torch_libraries"
# Debian's libtorch brings Qt 5 by way of OpenCV; ours is Qt 6.
[ -z "$network" ] || without "$build/bin/counterpoint_network.so" "the network module needs no Qt 6 and no SentencePiece" "libQt6|$spm_libraries"
[ ! -f "$build/bin/counterpoint" ] ||
    without "$build/bin/counterpoint" "the program links neither torch nor SentencePiece" "$torch_libraries|$spm_libraries"

weak=$(check_kernels)
[ -z "$weak" ] || wrong "weak symbols in objects built for a wider instruction set"$'\n'"$weak"

alone=$(mktemp -d)
generator=$(sed -n 's/^CMAKE_GENERATOR:INTERNAL=//p' "$build/CMakeCache.txt")
cmake -G "$generator" -S "$source/compute" -B "$alone" -DCMAKE_DISABLE_FIND_PACKAGE_Qt6=ON -DCOUNTERPOINT_NETWORK="${network:+ON}" >"$alone/log" 2>&1 ||
    wrong "compute does not configure alone"$'\n'"$(tail -n 20 "$alone/log")"
rm -r "$alone"

[ "$failures" -eq 0 ] && echo "The layers hold."
exit $((failures > 0))
