#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# header.sh INCLUDE CC CLANG: include/ruby/debug_external.h alone, in the languages that it
# promises.  clang compiles C++ without more packages; gcc needs g++ for it.
set -u
include=$1 cc=$2 clang=$3
passed=0 failed=0 skipped=0

# compile NAME COMPILER OPTION...
compile() {
	name=$1; shift
	if why=$(echo '#include "ruby/debug_external.h"' |
		"$@" -O2 -Wall -Wextra -Wpedantic -Werror -I"$include" -c -o /dev/null - 2>&1); then
		passed=$((passed + 1)); echo "ok   header as $name"
	else
		failed=$((failed + 1)); echo "FAIL header as $name: $why"
	fi
}

# CC may be more than one word.
compile "C99, $cc" $cc -x c -std=c99
compile "C99, clang" "$clang" -x c -std=c99
if echo 'int x;' | $cc -x c++ -c -o /dev/null - 2>/dev/null; then
	compile "C++17, $cc" $cc -x c++ -std=c++17
else
	skipped=1; echo "SKIP header as C++17, $cc: it compiles no C++ here (g++ is not installed)"
fi
compile "C++11, clang" "$clang" -x c++ -std=c++11
compile "C++17, clang" "$clang" -x c++ -std=c++17
compile "BPF, clang" "$clang" -target bpf -x c -std=c99
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
