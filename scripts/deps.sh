# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Missing packages: names them, or installs them. Sourced by configure.sh.

# install_missing: handles the arrays `missing` and `wanted`; returns 1 when nothing was
# installed and nothing has to be.
install_missing() {
  local entry packages=() as_root=() may_install=yes
  if [ "$(id -u)" -ne 0 ]; then as_root=(sudo); fi
  if [ "$install_deps" = no ] || { [ "$install_deps" = auto ] && [ "$(id -u)" -ne 0 ]; }; then
    may_install=no
  fi
  if [ ${#missing[@]} -eq 0 ] && { [ ${#wanted[@]} -eq 0 ] || [ $may_install = no ]; }; then
    [ ${#wanted[@]} -eq 0 ] || say "not installed, optional:" "${wanted[@]/#/  }"
    return 1
  fi
  # Two checks may ask for the same package.
  while IFS= read -r entry; do packages+=("$entry"); done \
    < <(printf '%s\n' "${missing[@]%%:*}" "${wanted[@]%%:*}" | sort -u | sed '/^$/d')
  say "" "missing packages (Debian's names):"
  printf '%s\n' "${missing[@]}" "${wanted[@]}" | sort -u | sed '/^$/d' |
    awk -F': ' '{ printf "  %-16s %s\n", $1, substr($0, length($1) + 3) }'
  local install=("${as_root[@]}" apt-get install -y --no-install-recommends "${packages[@]}")
  [ $may_install = yes ] ||
    die "${#packages[@]} packages are missing" "Install them and run ./configure.sh again:" \
      "${install[*]}" "or let it do so: ./configure.sh --install-deps"
  command -v apt-get >/dev/null || die "cannot install packages: there is no apt-get" \
    "Install what the list above names with this system's package manager."
  apt_install "${install[@]}"
}

# apt_install COMMAND...: apt-get update only if the first try fails (no lists, or stale ones).
apt_install() {
  local log=$BUILD/apt-install.log env=(env DEBIAN_FRONTEND=noninteractive)
  [ "$1" != sudo ] || { shift; env=(sudo env DEBIAN_FRONTEND=noninteractive); }
  say "$*"
  if ! "${env[@]}" "$@" > "$log" 2>&1 < /dev/null; then
    say "apt-get update"
    "${env[@]}" apt-get update >> "$log" 2>&1 < /dev/null || :
    "${env[@]}" "$@" >> "$log" 2>&1 < /dev/null || {
      tail -n 5 "$log" >&2
      die "apt-get could not install the packages" "The whole log: $log"
    }
  fi
}
