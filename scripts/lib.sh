# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# What the scripts share: messages, the BASE file, git without the user's settings,
# and which files of CRuby's tree are generated. Sourced, never run.

TOP=${TOP:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)}
SERIES_DIR=${SERIES_DIR:-$TOP/patches/ruby-3.4}
PROG=${PROG:-${0##*/}}

say() { printf '%s\n' "$@"; }
# found WHAT VALUE: one aligned line of what was detected.
found() { printf '  %-22s %s\n' "$1" "$2"; }
warn() { printf '%s: warning: %s\n' "$PROG" "$*" >&2; }
# die MESSAGE [LINE...]: the first line says what is wrong, the others what to do.
die() {
  printf '%s: error: %s\n' "$PROG" "$1" >&2
  shift
  [ $# -eq 0 ] || printf '  %s\n' "$@" >&2
  exit 1
}

# series_for RUBY: from here on, the series is the one for that Ruby, 3.4 or 3.3.
series_for() {
  [ -r "$TOP/patches/ruby-$1/BASE" ] || die "there are no patches for Ruby $1" \
    "patches/ has those for: $(cd "$TOP/patches" && echo ruby-* | sed 's/ruby-//g')"
  export SERIES_DIR=$TOP/patches/ruby-$1
}

# base_get KEY: a value from the series' BASE file.
base_get() {
  local v
  [ -r "$SERIES_DIR/BASE" ] || die "no BASE file in $SERIES_DIR"
  v=$(sed -n "s/^$1=//p" "$SERIES_DIR/BASE")
  [ -n "$v" ] || die "$SERIES_DIR/BASE has no $1="
  printf '%s\n' "$v"
}

# tree_get KEY: a value from the series' TREE file; empty when it has none.
tree_get() { sed -n "s/^$1=//p" "$SERIES_DIR/TREE" 2>/dev/null || :; }

# series_patches: the patches in order, one path per line.
series_patches() { find "$SERIES_DIR" -maxdepth 1 -name '[0-9]*.patch' | LC_ALL=C sort; }

# series_key: changes whenever base, patches or expected tree do.
series_key() {
  { cat "$SERIES_DIR/BASE"
    cat "$SERIES_DIR/TREE" 2>/dev/null || :
    series_patches | while IFS= read -r p; do cat "$p"; done
  } | sha256sum | cut -d' ' -f1
}

# series_touches: every path that a patch of the series names, sorted.
series_touches() {
  series_patches | while IFS= read -r p; do
    sed -n -e 's,^--- a/,,p' -e 's,^+++ b/,,p' -e 's,^\(new\|deleted\) file mode .*,,p' "$p"
  done | grep -v '^$' | LC_ALL=C sort -u || :
}

sha256_of() { sha256sum < "$1" | cut -d' ' -f1; }

# check_sha256 FILE: FILE is the tarball that BASE names, or the end.
check_sha256() {
  local want got
  want=$(base_get sha256)
  [ -r "$1" ] || die "cannot read the tarball $1"
  got=$(sha256_of "$1")
  [ "$got" = "$want" ] || die "wrong checksum: $1 is not CRuby $(base_get version)" \
    "expected sha256 $want" "found    sha256 $got" \
    "It was not used. Remove it and fetch it again (see ./configure.sh --help, Source)."
}

# The user's and the system's git settings (diff.noprefix, autocrlf, hooks) must not
# change a hash or a patch.
git_isolate() {
  unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_EXTERNAL_DIFF
  export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_TERMINAL_PROMPT=0
  export GIT_ATTR_NOSYSTEM=1 TZ=UTC LC_ALL=C
  export GIT_COMMITTER_NAME=series GIT_COMMITTER_EMAIL=series@localhost
}

# is_generated PATH: the release tarball has it, the git tree does not, and a build may
# write it into the source tree. The series must not touch such a file.
is_generated() {
  case $1 in
    configure|configure~|ChangeLog|revision.h|parse.c|parse.h|lex.c|id.c|id.h) ;;
    miniprelude.c|probes.dmyh|*.rbinc|autom4te.cache/*|tool/config.guess|tool/config.sub) ;;
    ext/ripper/ripper.*|ext/ripper/ripper_init.c|ext/ripper/eventids1.*|ext/ripper/eventids2table.c) ;;
    ext/socket/constdefs.[ch]|ext/etc/constdefs.h|ext/rbconfig/sizeof/*.c) ;;
    prism/ast.h|prism/diagnostic.h) ;;
    prism/diagnostic.c|prism/node.c|prism/prettyprint.c|prism/serialize.c) ;;
    prism/token_type.c|prism/api_node.c|ext/prism/api_node.c) ;;
    lib/prism/compiler.rb|lib/prism/dispatcher.rb|lib/prism/dsl.rb) ;;
    lib/prism/inspect_visitor.rb|lib/prism/mutation_compiler.rb|lib/prism/node.rb) ;;
    lib/prism/reflection.rb|lib/prism/serialize.rb|lib/prism/visitor.rb) ;;
    lib/ruby_vm/rjit/instruction.rb|.bundle/*|gems/*.gem) ;;
    enc/trans/transdb.c) return 1 ;;
    enc/trans/*.c) ;;
    */*) return 1 ;;
    *.inc) ;;
    *) return 1 ;;
  esac
}

# is_generator_input PATH: changing it makes CRuby's build run a base ruby.
is_generator_input() {
  case $1 in
    insns.def|vm_opts.h|parse.y|rubyparser.h|probes.d|defs/*|template/*|*.erb) ;;
    prism/templates/*|prism/config.yml|tool/insns2vm.rb|tool/ruby_vm/*) ;;
    tool/mk_builtin_loader.rb|tool/generic_erb.rb|tool/lrama/*|ext/ripper/tools/*) ;;
    */*) return 1 ;;
    *.rb) ;;
    *) return 1 ;;
  esac
}

# is_autoconf_input PATH: changing it makes `configure` stale.
is_autoconf_input() {
  case $1 in configure.ac|acinclude.m4|tool/m4/*) ;; *) return 1 ;; esac
}

# series_has PREDICATE: true when a path that the series touches satisfies it.
series_has() {
  local p
  while IFS= read -r p; do
    if "$1" "$p"; then return 0; fi
  done < <(series_touches)
  return 1
}
