#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# corpus.sh NAME DIRECTORY: puts the inputs that a fuzzer begins with into the directory.
set -eu
mkdir -p "$2"
for f in "$(dirname "$0")/corpus/$1"/*; do
	case $f in
	*.tar.gz) tar xzf "$f" -C "$2" ;;
	*.gz) gzip -dc "$f" >"$2/$(basename "$f" .gz)" ;;
	*) cp "$f" "$2/" ;;
	esac
done
