#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# check.sh SOURCE DIRECTORY CC CLANG TOOLS: all parts, and one total as the last line.
set -u
src=$1 dir=$2 cc=$3 clang=$4 tools=$5
passed=0 failed=0 skipped=0

# part NAME COMMAND...
part() {
	part=$1 start=$(date +%s); shift
	echo "-- $part"
	"$@" >"$dir/$part.log" 2>&1
	status=$?
	total=$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$dir/$part.log" | tail -1)
	grep -Ev '^(ok   |[0-9]+ passed, )' "$dir/$part.log"
	echo "   ${total:-no result}"
	echo "$part took $(($(date +%s) - start)) s"
	set -- $total
	passed=$((passed + ${1:-0})) skipped=$((skipped + ${5:-0}))
	# A part that ended badly without a failed test is one.
	[ $status = 0 ] || [ "${3:-0}" -gt 0 ] || set -- 0 passed, 1
	[ -n "$total" ] || set -- 0 passed, 1
	failed=$((failed + $3))
}

part unit "$dir/unit"
part fuzzers sh "$src/../fuzz/replay.sh" "$dir/replay" "$dir/fuzz"
part floors python3 "$src/floors.py" "$tools"
part lint python3 "$src/lint_versions.py" "$tools"
part lint_docs python3 "$src/lint_docs.py" "$src/../.."
part options python3 "$src/options.py" "$tools" "$dir/print_options"
part bpf_stack python3 "$src/bpf_stack.py" "$tools" "$clang" "$dir"
part header sh "$src/header.sh" "$src/../../include" "$cc" "$clang"
part abi python3 "$src/abi/abi.py" "$src/../../include/extprof.h" "$src/abi/libextprof-0.1.abi" "$cc"
part compatible python3 "$src/contract/compatible.py" "$src/../../include/ruby/debug_external.h" "$dir/next/ruby/debug_external.h" "$cc"
part old_reader "$dir/old_reader"
part new_reader "$dir/new_reader"
part formats sh "$src/formats.sh" "$dir"
part otlp_schema python3 "$src/otlp_schema.py" "$dir/formats.out" "$src/../.."
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
