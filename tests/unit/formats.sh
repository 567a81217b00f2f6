#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# formats.sh DIRECTORY: one report in all formats, read by other people's programs.
set -u
dir=$1
out=$dir/formats.out
rm -rf "$out"
mkdir -p "$out"
"$dir/formats" "$out" || { echo "FAIL formats: they could not be written"; echo "0 passed, 1 failed"; exit 1; }
exec python3 "$(dirname "$0")/formats.py" "$out"
