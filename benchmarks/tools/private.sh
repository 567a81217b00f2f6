#!/bin/sh
# usage: private.sh DIR FILES... -- COMMAND...
# Runs COMMAND so that what it writes below each of FILES goes to memory, and away with it: others
# of it can run at the same time. DIR is any empty directory. Needs root or user namespaces.
set -eu
if [ "${1-}" != --inside ]; then
  user=; [ "$(id -u)" -eq 0 ] || user=--map-root-user
  exec unshare --mount $user sh "$0" --inside "$@"
fi
shift
here=$PWD dir=$1 n=0
shift
mount -t tmpfs private "$dir"
# Relative from here on: DIR may be below one of FILES.
cd "$dir"
while [ "$1" != -- ]; do
  n=$((n + 1))
  mkdir -p "$n/upper" "$n/work"
  chmod --reference="$1" "$n/upper"
  mount -t overlay private -o "lowerdir=$1,upperdir=$n/upper,workdir=$n/work" "$1"
  shift
done
shift
cd "$here"
exec "$@"
