#!/bin/bash
# resources/record_hf.py where Python has no packages (-S): its help is there all the same, a slip in the arguments is
# told first, and what is missing is one sentence.
#   record_hf.sh PYTHON SOURCE
set -uo pipefail
python=$1 script=$2/resources/record_hf.py
failures=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# says STATUS TEXT [ARGUMENT…]: the script ends so, and TEXT is in what it says
says() {
    local status=$1 text=$2 said ended
    shift 2
    said=$("$python" -S "$script" "$@" 2>&1)
    ended=$?
    if [ "$ended" != "$status" ] || [[ $said != *"$text"* ]] || [[ $said == *Traceback* ]]; then
        echo "FAIL: record_hf.py $*"$'\n'"$said"
        failures=$((failures + 1))
    fi
}

says 0 "Needs torch and transformers" --help
says 2 "the following arguments are required" --text a
says 1 "'nameless' is not NAME=MODEL" --out "$folder/r.safetensors" --text a nameless
says 1 "the name 'composed' is reserved" --out "$folder/r.safetensors" --ids 1 composed=/tmp
says 1 "holds a line end or another control" --out "$folder/r.safetensors" --ids 1 $'a\nb=/tmp'
says 1 "'base' is the first model's" --out "$folder/r.safetensors" --ids 1 a=/tmp base=/tmp
says 1 "--ids takes whole numbers" --out "$folder/r.safetensors" --ids 1,abc base=/tmp
says 1 "$folder/nope: No such file or directory; check the path" --out "$folder/r.safetensors" --text-file "$folder/nope" base=/tmp
says 1 "'base': $folder/nope: there is no such folder" --out "$folder/r.safetensors" --ids 1 "base=$folder/nope"
says 1 "record_hf.py: the Python packages torch and transformers are missing; install with: pip install torch transformers" \
    --out "$folder/r.safetensors" --text a base=model
exit $((failures > 0))
