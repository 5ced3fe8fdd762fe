# shellcheck shell=bash
# What the sections share. bench/run has built the programs and says in the environment where
# they are (bench_bin), which folder is theirs (bench_place) and how many rounds to do.
set -u -o pipefail
bin=${bench_bin:?start this with bench/run}
export place=${bench_place:?} rounds=${bench_rounds:?}

fail() {
  echo "bench: $1" >&2
  exit 1
}

# "median p10 p90" of column $1 of the numbers on stdin, divided by $2.
spread() {
  awk -v c="$1" -v by="$2" '{ print $c / by }' | sort -g | awk '
    { v[NR] = $1 }
    function at(q) { return v[int(q * (NR - 1) + 1.5)] }
    END { if (NR) printf "%.3f %.3f %.3f\n", at(0.5), at(0.1), at(0.9); else print "- - -" }'
}

row() {
  local name=$1
  shift
  printf '| %s |' "$name"
  printf ' %s |' "$@"
  printf '\n'
}

# zoo KIND ARGS...: the path of a generated model, made once.
zoo() {
  local kind=$1
  shift
  [ -f "$place/$kind.onnx" ] || "$bin/zoogen" "$kind" -o "$place/$kind.onnx" "$@" >/dev/null || fail "no model $kind"
  echo "$place/$kind.onnx"
}

# The words of a request for a generated model.
flags() {
  echo --backend=builtin "--model=$place/$1.onnx" --framework=5 --soc_version=Ascend310P3 \
    --precision_mode_v2=fp16
}
