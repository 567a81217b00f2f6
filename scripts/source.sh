# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Finds CRuby's source: the submodule ruby/, a given tarball, or Debian's source package.
# Sourced by configure.sh. Sets source_kind (tarball, git) and source_path.

# submodule_ready: ruby/ holds the commit that BASE names.
submodule_ready() {
  [ -e "$TOP/ruby/.git" ] &&
    git -c safe.directory='*' -C "$TOP/ruby" cat-file -e "$(base_get commit)^{commit}" 2>/dev/null
}

# submodule_fetch: one quick question decides whether a clone is worth trying.
submodule_fetch() {
  local url git=(git -c "safe.directory=*" -C "$TOP")
  [ -e "$TOP/.git" ] && command -v git >/dev/null || return 1
  url=$("${git[@]}" config -f .gitmodules submodule.ruby.url) || return 1
  export GIT_TERMINAL_PROMPT=0
  if ! timeout 15 "${git[@]}" -c http.lowSpeedLimit=1 -c http.lowSpeedTime=10 \
    ls-remote -q "$url" "refs/tags/$(base_get tag)" >/dev/null 2>&1; then
    found "submodule ruby/" "$url cannot be reached"
    return 1
  fi
  found "submodule ruby/" "fetching $(base_get tag) from $url"
  timeout 600 "${git[@]}" submodule update --init --depth 1 ruby >/dev/null 2>&1 || return 1
  # The submodule is checked out as the commit of one series; that of another is fetched beside it.
  submodule_ready ||
    timeout 600 git -c safe.directory='*' -C "$TOP/ruby" fetch -q --depth 1 origin tag "$(base_get tag)" >/dev/null 2>&1
  submodule_ready
}

use_submodule() { source_kind=git source_path=$TOP/ruby; }

use_tarball() {
  check_sha256 "$1"
  source_kind=tarball
  source_path=$(cd "$(dirname "$1")" && pwd)/${1##*/}
}

# use_debian: the tarball out of Debian's source package, kept in the build directory.
use_debian() {
  local t
  t=$BUILD/apt/$(base_get tarball)
  [ -s "$t" ] || "$TOP/scripts/debian-source" "$BUILD/apt"
  use_tarball "$t"
}

# remembered: the kind and path of what was used last time, for the same Ruby. Its name is the second line.
remembered() {
  local last
  last=$(sed -n 2p "$BUILD/source" 2>/dev/null)
  [ "${last:-3.4}" = "$ruby" ] && sed -n 1p "$BUILD/source" 2>/dev/null
}

# find_source: --ruby-tarball and --ruby-from first, then the tarball that `make dist` packs, then
# what was used last time, then the submodule, then Debian.
find_source() {
  local kind path
  if [ -n "$ruby_tarball" ]; then
    use_tarball "$ruby_tarball"
  elif [ "$ruby_from" = debian ]; then
    use_debian
  elif submodule_ready; then
    use_submodule
  elif [ "$ruby_from" = auto ] && [ -r "$TOP/ruby/$(base_get tarball)" ]; then
    use_tarball "$TOP/ruby/$(base_get tarball)"
  elif [ "$ruby_from" = submodule ]; then
    submodule_fetch || die "the submodule ruby/ cannot be checked out" \
      "git submodule update --init --depth 1 ruby"
    use_submodule
  elif read -r kind path < <(remembered) && [ "$kind" = tarball ] && [ -r "$path" ]; then
    use_tarball "$path"
  elif submodule_fetch; then
    use_submodule
  else
    use_debian
  fi
  printf '%s %s\n%s\n' "$source_kind" "$source_path" "$ruby" > "$BUILD/source"
  found "CRuby $(base_get version)" "$source_path"
}
