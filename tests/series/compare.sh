# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# scripts/compare-tests --report on logs as CRuby's runner writes them. Sourced by run.

# unit_log FAILURES SKIPS REPORT...: a run of three tests, and of those in $more. REPORT: "Skipped
# T#a", numbered here.
more=
unit_log() {
  local failures=$1 skips=$2 n=0 r
  shift 2
  printf '$ make -C /build test-all\n'
  for r in test_a test_b test_c $more; do printf '[1/3] T#%s = 0.01 s\n' "$r"; done
  for r; do printf '\n%3d) %s:\n%s [/t.rb:1]:\nwhy\n' $((n += 1)) "${r%% *}" "${r#* }"; done
  printf '\n3 tests, 9 assertions, %d failures, 0 errors, %d skips\n' "$failures" "$skips"
}

# compared NAME STATUS PATTERN OPTION...: of the logs stock and patched in $work/compare.
compared() {
  expect "$1" "$2" "$3" "$TOP/scripts/compare-tests" --report --only=test-all "${@:4}" \
    "$work/compare/build" "$work/compare/build" "$work/compare/out"
}

test_compare() {
  local log=$work/compare/out/test-all many
  mkdir -p "$work/compare/build" "$work/compare/out"
  echo 'srcdir = .' > "$work/compare/build/Makefile"
  printf '#!/bin/sh\necho fake\n' > "$work/compare/build/ruby"
  chmod +x "$work/compare/build/ruby"

  unit_log 0 1 'Skipped T#test_a' > "$log.stock.log"
  cp "$log.stock.log" "$log.patched.log"
  compared "the same on both sides is no difference" 0 '^skipped only on patched: 0'
  unit_log 0 2 'Skipped T#test_a' 'Skipped T#test_b' > "$log.patched.log"
  compared "a test that only patched skips is a difference" 1 '^  T#test_b'
  compared "  and one only" 1 '^skipped only on patched: 1'
  unit_log 0 0 > "$log-skipped1.stock.log"
  cp "$log-skipped1.stock.log" "$log-skipped1.patched.log"
  compared "  not if it is not skipped alone" 0 'skipped 0 on patched, 0 on stock' --verify=1
  unit_log 0 1 'Skipped T#test_b' > "$log-skipped1.patched.log"
  compared "  but if it is" 1 'skipped 1 on patched, 0 on stock: REGRESSION' --verify=1
  more=test_new unit_log 0 2 'Skipped T#test_a' 'Skipped T#test_new' > "$log.patched.log"
  compared "one that stock does not have is no difference" 0 '^skipped only on patched: 0'
  unit_log 0 0 > "$log.patched.log"
  compared "one that only stock skips is told, and is none" 0 '^skipped only on stock: 1'
  unit_log 0 2 'Skipped T#test_a' > "$log.patched.log"
  compared "a skip that has no name is not compared" 1 'does not name all that were skipped'
  unit_log 1 1 'Skipped T#test_a' 'Failure T#test_c' > "$log.patched.log"
  compared "a failure after a skip is found" 1 '^fail only on patched: 1'
  compared "  and the skip is not one" 1 '^skipped only on patched: 0'
  mapfile -t many < <(seq -f 'Skipped T#test_%g' 1100)
  unit_log 1 1100 "${many[@]}" 'Failure T#test_c' > "$log.patched.log"
  compared "so it is after a thousand" 1 '^fail only on patched: 1'
  unit_log 1 1 'Skipped T#test_a' > "$log.patched.log"
  compared "a failure that has no name is not compared" 1 'does not name all that failed'
  unit_log 0 1 'Skipped T#test_a' | sed '$d' > "$log.patched.log"
  compared "a run that did not end is a difference" 1 'DID NOT END'
}
