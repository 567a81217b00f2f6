# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# scripts/series on the tiny project. Sourced by run.

one_patch() { commit vm.c 'one\ntwo\n2.5\nthree\nfour\nfive\n' 'vm: count halves'; }

test_round_trip() {
  new_project
  expect "an empty series verifies" 0 '0 failed' series verify --tarball="$P/base.tar.xz"
  one_patch
  commit new.c 'new\n' 'vm: add a file' 'With a body: äöü.'
  (cd "$P/dev" && git rm -q main.c && chmod +x new.c && git add new.c && git commit -q -m 'main: drop it' -m 'Gone.')
  expect "export" 0 'exported 3 patches' series export "$P/dev"
  expect "verify" 0 '^14 passed, 0 failed' series verify --tarball="$P/base.tar.xz"
  expect "verify from git" 0 '^14 passed, 0 failed' series verify --git="$P/upstream"
  expect "apply" 0 'applied 3 patches: 3 files' apply
  is "the applied tree is the developer's" \
    "$(cd "$P/dev" && find . -name .git -prune -o -type f -printf '%m %p\n' | sort)" \
    "$(cd "$P/src" && find . -type f -printf '%m %p\n' | sort)"
  is "apply leaves no .git in the tree" "$(find "$P/src" -name '.git*')" ""
  expect "apply from git" 0 'applied 3' series apply --git="$P/upstream" "$P/src-git"
  is "git and tarball give the same file" "$(cat "$P/src-git/vm.c")" "$(cat "$P/src/vm.c")"
  is "the git tree names its revision" "$(sed -n 's/.*RUBY_FULL_REVISION "\(.*\)"/\1/p' "$P/src-git/revision.h")" \
    "$(git -C "$P/upstream" rev-parse HEAD)"
}

test_incremental() {
  new_project
  one_patch
  export_series
  apply > /dev/null
  touch -d 2025-02-02 "$P/src/vm.c" "$P/src/configure"
  expect "applying again writes nothing" 0 '^$' apply
  is "and keeps the times" "$(stat -c %y "$P/src/vm.c" | cut -c1-10)" 2025-02-02
  commit main.c 'int main(void) { return 1; }\n' 'main: fail'
  export_series
  expect "a new patch writes its file only" 0 'applied 2 patches: 1 files' apply
  is "others keep their times" "$(stat -c %y "$P/src/vm.c" | cut -c1-10)" 2025-02-02
  is "the new file is there" "$(cat "$P/src/main.c")" 'int main(void) { return 1; }'
  git -C "$P/dev" reset -q --hard HEAD~2
  export_series
  expect "a series without patches restores the base" 0 'applied 0 patches: 2 files' apply
  is "as it was" "$(cat "$P/src/main.c")" 'int main(void) { return 0; }'
}

test_wrong_input() {
  new_project
  one_patch
  export_series
  cp "$P/base.tar.xz" "$P/other.tar.xz"
  echo x >> "$P/other.tar.xz"
  expect "a wrong checksum stops" 1 'wrong checksum' series apply --tarball="$P/other.tar.xz" "$P/src"
  expect "and names what was expected" 1 "expected sha256 $(sha256sum < "$P/base.tar.xz" | cut -c1-64)" \
    series apply --tarball="$P/other.tar.xz" "$P/src"
  expect "and what was found" 1 "found +sha256 $(sha256sum < "$P/other.tar.xz" | cut -c1-64)" \
    series apply --tarball="$P/other.tar.xz" "$P/src"
  is "and unpacks nothing" "$(ls "$P/src" 2>/dev/null)" ""
  expect "a git tree without the commit stops" 1 'no commit' series apply --git="$P/dev" "$P/src"
  local patch=$P/patches/ruby-3.4/0001-vm-count-halves.patch
  sed -i 's/^+2.5/+2.6/' "$patch"
  expect "a patch edited by hand stops" 1 'not those that TREE names' apply
  expect "verify finds it too" 1 'FAILED +tree is the one in TREE' series verify --tarball="$P/base.tar.xz"
  sed -i 's/^ two/ tvo/' "$patch"
  expect "no fuzz: other context stops" 1 '0001-vm-count-halves.patch does not apply' apply
  export_series
  sed -i 's/^tarball=./tarball=x/' "$P/patches/ruby-3.4/TREE"
  expect "another tree in TREE stops" 1 'found +tarball=' apply
  rm "$P/patches/ruby-3.4/TREE"
  expect "no TREE stops" 1 'no TREE' apply
}

test_hand_edits() {
  new_project
  one_patch
  export_series
  apply > /dev/null
  echo generated >> "$P/src/configure"
  expect "a generated file may differ" 0 '' apply
  echo mine >> "$P/src/main.c"
  expect "an edited file stops" 1 'changed by hand' apply
  expect "and is named" 1 'main.c' apply
  is "and is kept" "$(tail -n 1 "$P/src/main.c")" mine
}

test_export_rules() {
  new_project
  one_patch
  git -C "$P/dev" checkout -q -b side HEAD~1
  commit main.c 'x\n' 'main: side'
  git -C "$P/dev" checkout -q main
  git -C "$P/dev" merge -q -m merge side
  expect "export refuses a merge" 1 'merge commit' series export "$P/dev"
  expect "export refuses another base" 1 'is not the release tarball' series export "$P/dev" side
  is "and leaves the old patches" "$(ls "$P/patches/ruby-3.4")" "$(printf 'BASE\nTREE')"
}

# bad_message PATTERN SUBJECT [BODY]
bad_message() {
  new_project
  commit vm.c 'other\n' "$2" "${3-A body.}"
  export_series
  expect "verify reads messages: $2" 1 "$1" series verify --tarball="$P/base.tar.xz"
}

test_verify_finds() {
  bad_message "not 'area: imperative'" "count halves"
  bad_message "not imperative" "vm: adds halves"
  bad_message "full stop" "vm: count halves."
  bad_message "more than 60" "vm: count halves and thirds and quarters and whatever else there is"
  bad_message "no body" "vm: count quarters" ""
  new_project
  commit vm.c 'one\nrb_debug_ext_one()\n' 'vm: count halves'
  export_series
  expect "verify finds a word of the interface before it" 1 'FAILED +0001-vm-count-halves.patch stands alone' \
    series verify --tarball="$P/base.tar.xz"
  new_project
  commit configure '#!/bin/sh\n' 'build: patch a generated file'
  export_series
  expect "verify finds a patched generated file" 1 'FAILED +no generated file' series verify --tarball="$P/base.tar.xz"
  new_project
  commit include/ruby/debug_external.h '#define A 1\n' 'debug_external: add the header'
  export_series
  expect "verify finds a header that we lack" 1 'FAILED.*debug_external.h' series verify --tarball="$P/base.tar.xz"
  echo '#define A 2' > "$P/include/ruby/debug_external.h"
  expect "verify finds a header that differs" 1 'FAILED.*debug_external.h' series verify --tarball="$P/base.tar.xz"
  echo '#define A 1' > "$P/include/ruby/debug_external.h"
  expect "verify accepts the same header" 0 '0 failed' series verify --tarball="$P/base.tar.xz"
  sed -i 's/^Subject:.*/Subject: [PATCH] debug: say it otherwise/' "$P"/patches/ruby-3.4/0001-*.patch
  expect "verify finds a patch that was renamed" 1 'FAILED +a second export' series verify --tarball="$P/base.tar.xz"
}
