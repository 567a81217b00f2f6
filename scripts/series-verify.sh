# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Proves the series. Sourced by scripts/series.

passed=0 failed=0
# result NAME STATUS [DETAIL]
result() {
  if [ "$2" -eq 0 ]; then
    passed=$((passed + 1)); printf 'ok      %s\n' "$1"
  else
    failed=$((failed + 1)); printf 'FAILED  %s%s\n' "$1" "${3:+: $3}"
  fi
}
# check NAME COMMAND...: its output is shown when it fails.
check() {
  local name=$1 out
  shift
  if out=$("$@" 2>&1); then result "$name" 0; else result "$name" 1 "$out"; fi
}

# message_faults COMMIT: what is wrong with a commit's message; nothing when it is right.
message_faults() {
  local subject body
  subject=$(git log -1 --format=%s "$1")
  body=$(git log -1 --format=%b "$1" | tr -d '[:space:]')
  [[ $subject =~ ^[A-Za-z0-9_./,\ -]+:\ [a-z] ]] || echo "not 'area: imperative'"
  [[ $subject =~ ^[^:]*:\ (adds|added|adding|fixes|fixed|makes|made|changes|changed|moves|moved)\  ]] &&
    echo "not imperative"
  [ ${#subject} -le 60 ] || echo "subject is ${#subject} characters, more than 60"
  [[ $subject != *. ]] || echo "subject ends with a full stop"
  [ -n "$body" ] || echo "no body"
  return 0
}

# same_header A B: both are there and equal, or neither is there.
same_header() {
  [ -e "$1" ] || [ -e "$2" ] || return 0
  cmp "$1" "$2"
}

# interface_words COMMIT: where the message or the change of a commit is about the interface.
interface_words() {
  { git log -1 --format=%B "$1"; git diff-tree -p --no-renames "$1" | grep '^[-+]'; } |
    grep -niE 'debug_ext|external_debug|external debugging|#19119' | head -n 5
  return 0
}

series_verify() {
  local work words interface=0 base_tree new_tree p c f faults header=include/ruby/debug_external.h
  git_isolate
  work=$(mktemp -d)
  trap "rm -rf '$work'" EXIT
  fresh_repository "$work"
  git tag -f base HEAD >/dev/null
  result "base is CRuby $(base_get version) from $source_kind" 0

  while IFS= read -r p; do
    if ! f=$(git am --quiet --keep-cr --whitespace=nowarn "$p" 2>&1); then
      result "${p##*/} applies" 1 "$f"
      break
    fi
    result "${p##*/} applies" 0
    faults=$(message_faults HEAD)
    check "${p##*/} message" test -z "$faults"
    [ -z "$faults" ] || printf '        %s\n' "$faults"
    # What comes before the interface can be sent to CRuby without it.
    [[ $(git log -1 --format=%s) != debug_external:* ]] || interface=1
    [ $interface = 0 ] || continue
    words=$(interface_words HEAD)
    check "${p##*/} stands alone" test -z "$words"
    [ -z "$words" ] || printf '        %s\n' "$words"
  done < <(series_patches)

  new_tree=$(git rev-parse 'HEAD^{tree}')
  if f=$(compare_tree git 2>&1); then result "tree is the one in TREE" 0
  else result "tree is the one in TREE" 1 "$f"; fi

  mkdir "$work/export" "$work/ours"
  git -c core.abbrev=40 "${FORMAT_PATCH[@]}" -q -o "$work/export" base..HEAD
  series_patches | while IFS= read -r p; do cp "$p" "$work/ours/"; done
  check "a second export is identical" diff -r "$work/ours" "$work/export"
  check "$header is ours" same_header "$TOP/$header" "$work/tree/$header"

  f=$(git diff-tree -r --no-renames --name-only "$base_tree" "$new_tree" |
    while IFS= read -r p; do if is_generated "$p"; then echo "$p"; fi; done)
  check "no generated file is patched" test -z "$f"
  [ -z "$f" ] || printf '        %s\n' $f

  say "$passed passed, $failed failed"
  [ "$failed" -eq 0 ]
}
