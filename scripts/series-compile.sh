# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Compiles, after each patch, the C files that it touches: a quick part of check-builds' stages.
# Sourced by scripts/series.

# parts_of FILE...: what to compile for them. Some are included by vm.c and thread.c; for a header,
# vm.c and the interface's own files, not all that include it. Rust and extensions are left out.
parts_of() {
  local f
  for f in "$@"; do
    case $f in
      vm_insnhelper.c|vm_method.c|vm_eval.c|vm_args.c|vm_exec.c|insns.def) echo vm.c ;;
      thread_pthread*.c|thread_sync.c) echo thread.c ;;
      gc/default/default.c) echo "$f" ;;
      */*.c) ;;
      *.c) echo "$f" ;;
      *.h) echo vm.c; find . -maxdepth 1 -name 'debug_external*.c' -printf '%f\n' ;;
    esac
  done | sort -u
}

# series_compile BUILD: BUILD is a build of the whole series, for its generated headers.
series_compile() {
  local build source work base_tree p f arch out count failed=0 passed=0
  [ -r "$1/Makefile" ] || die "$1 is no build of CRuby" "Run make first, then give build/ruby."
  build=$(realpath "$1")
  source=$build/$(sed -n 's/^srcdir = //p' "$build/Makefile")
  [ -r "$source/vm.inc" ] || die "$build has not been built" "Run make first."
  arch=$(dirname "$(cd "$build/.ext/include" && echo */ruby/config.h)") arch=${arch%/ruby}
  git_isolate
  work=$(mktemp -d)
  trap "rm -rf '$work'" EXIT
  fresh_repository "$work"
  while IFS= read -r p; do
    git am --quiet --keep-cr --whitespace=nowarn "$p" || die "${p##*/} does not apply"
    count=0
    while IFS= read -r f; do
      count=$((count + 1))
      out=$("${CC:-gcc}" -std=gnu11 -fsyntax-only -w -DRUBY_EXPORT -I"$build" \
        -I"$build/.ext/include/$arch" -Iinclude -I. -I"$build/prism" -Iprism \
        -I"$(echo enc/unicode/*/)" -idirafter "$source" "$f" 2>&1) && continue
      failed=$((failed + 1))
      printf 'FAILED  %s: %s\n%s\n' "${p##*/}" "$f" "$(head -n 10 <<< "$out")"
    done < <(parts_of $(git diff-tree -r --no-renames --name-only HEAD~ HEAD))
    passed=$((passed + count))
  done < <(series_patches)
  say "$((passed - failed)) passed, $failed failed"
  [ "$passed" -gt 0 ] && [ "$failed" -eq 0 ]
}
