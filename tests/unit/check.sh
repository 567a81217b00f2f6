#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# check.sh SOURCE DIRECTORY EXTPROF CC CLANG: all parts, and one total as the last line.
set -u
src=$1 dir=$2 extprof=$3 cc=$4 clang=$5
passed=0 failed=0 skipped=0

# part NAME COMMAND...
part() {
	part=$1; shift
	echo "-- $part"
	"$@" >"$dir/$part.log" 2>&1
	status=$?
	total=$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$dir/$part.log" | tail -1)
	grep -Ev '^(ok   |[0-9]+ passed, )' "$dir/$part.log"
	echo "   ${total:-no result}"
	set -- $total
	passed=$((passed + ${1:-0})) skipped=$((skipped + ${5:-0}))
	# A part that ended badly without a failed test is one.
	[ $status = 0 ] || [ "${3:-0}" -gt 0 ] || set -- 0 passed, 1
	[ -n "$total" ] || set -- 0 passed, 1
	failed=$((failed + $3))
}

part unit "$dir/unit"
part header sh "$src/header.sh" "$src/../../include" "$cc" "$clang"
part live sh "$src/live.sh" "$extprof" "$dir"
part browser sh "$src/browser.sh" "$extprof" "$dir"
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
