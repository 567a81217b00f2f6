#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# embed.sh NAME FILE: a text file as a C string constant.
set -eu
printf '/* made from %s by embed.sh */\nstatic const char %s[] =\n' "$(basename "$2")" "$1"
sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/?/\\?/g' -e 's/^/\t"/' -e 's/$/\\n"/' "$2"
printf '\t"";\n'
