#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# replay.sh PROGRAM DIRECTORY [SECONDS]: the short form of all fuzzers, see replay.c, and one total as the last line.
set -u
here=$(cd "$(dirname "$0")" && pwd) program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1") dir=$2 seconds=${3:-1}
passed=0 failed=0
for name in $(sed -n 's/^FUZZER(\(.*\))$/\1/p' "$here/fuzzers.def"); do
	rm -rf "$dir/$name"
	sh "$here/corpus.sh" "$name" "$dir/$name" || exit
	if (cd "$dir" && "$program" "$name" "$seconds" "$name"/* >"$name.log" 2>&1); then
		passed=$((passed + 1))
		tail -1 "$dir/$name.log"
	else
		failed=$((failed + 1))
		echo "FAIL $name: $dir/$name.log"
		tail -40 "$dir/$name.log"
	fi
done
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
