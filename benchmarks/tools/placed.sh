#!/bin/sh
# usage: placed.sh AT BENCH HERE COMMAND...
# Runs COMMAND where the directory BENCH is AT/bench too and HERE is AT/here, whatever their own paths are.
# Needs root or user namespaces.
set -eu
if [ "$1" != --inside ]; then
  user=; [ "$(id -u)" -eq 0 ] || user=--map-root-user
  exec unshare --mount $user sh "$0" --inside "$@"
fi
at=$2 bench=$3 here=$4
shift 4
mount -t tmpfs place "$at"
mkdir "$at/bench" "$at/here"
mount --bind "$bench" "$at/bench"
mount --bind "$here" "$at/here"
exec "$@"
