#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# fill.sh FILE TOOLS/EXTPROF: the file with the names of modes and formats, which are in tables.
set -eu
names() { sed -n "s/^$1(\([a-z0-9_]*\))\$/\1/p" "$2" | paste -sd' ' -; }
modes=$(names MODE "$2/source/modes.def") formats=$(names FORMAT "$2/output/formats.def")
[ -n "$modes" ] && [ -n "$formats" ]
sed -e "s/@MODES@/$modes/g" -e "s/@FORMATS@/$formats/g" "$1"
