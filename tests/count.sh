# Sourced by tests/run and .ci/run: runs ctest and counts.
# shellcheck shell=bash

# run_ctest PRESET JOBS [ctest arguments] sets `passed` and `failed`. A test whose program is
# missing has failed, and so has a run that did not take place; a test that skipped itself is
# named and counts for nothing.
run_ctest() {
  local preset=$1 jobs=$2 report summary
  shift 2
  report=$PWD/build/$preset/ctest.xml
  rm -f "$report"
  ctest --preset "$preset" -j "$jobs" --no-tests=error --output-junit "$report" "$@" |
    grep --line-buffered -v -E '^ +Start +[0-9]+:'
  summary=$(count_report "$report")
  echo "${summary#* * }"
  # shellcheck disable=SC2034 # read by whoever sourced this
  read -r passed failed _ <<<"$summary"
}

# "PASSED FAILED TEXT" for a ctest report.
count_report() {
  [ -s "$1" ] || { echo "0 1 ctest did not run"; return; }
  awk '
    /^\t<testcase / {
      name = $0; sub(/.* name="/, "", name); sub(/".*/, "", name)
      waiting = 0
      if (/ status="run"/) passed++
      else if (/ status="notrun"/) waiting = 1
      else if (/ status="disabled"/) skipped = skipped " " name
      else failed++
    }
    waiting && /<skipped message="SKIP_/ { skipped = skipped " " name; waiting = 0 }
    waiting && /<skipped / { failed++; waiting = 0 }
    END {
      text = skipped == "" ? "no test was skipped" : "skipped:" skipped
      print passed + 0, (passed + failed ? failed + 0 : 1), text
    }' "$1"
}
