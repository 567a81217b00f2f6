# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Applies and exports the series. Sourced by scripts/series.
#
# The patched tree DEST has a private repository DEST.git beside it (not inside: CRuby's
# build would take its own revision from it). The series is applied in an index, never
# with a patch program, so each state of the tree is a git tree hash; moving DEST from
# one state to the next is a two-tree merge, which writes only what differs.
#
# TREE holds
#   tarball=  git write-tree of the whole tree, base = the release tarball
#   files=    sha256 over the lines "mode blob path" of every path that the series
#             changes, sorted bytewise; the same for the tarball and for git,
#             which differ only in generated files

# The options of the export. STYLE: the same commits always give the same bytes.
FORMAT_PATCH=(format-patch -N --zero-commit --no-signature --full-index --no-renames
  --diff-algorithm=histogram --stat=80)

# need_source: sets source_kind and source_path, from the options or from configure.sh.
need_source() {
  if [ -z "$source_kind" ]; then
    local f=${BUILD:-$TOP/build}/source
    [ -r "$f" ] || die "which source is the base?" \
      "Run ./configure.sh first, or give --tarball=PATH or --git=DIR."
    read -r source_kind source_path < "$f"
  fi
  case $source_kind in
    tarball) check_sha256 "$source_path" ;;
    git)
      git_isolate
      local want got
      want=$(base_get commit)
      got=$(git -c safe.directory='*' -C "$source_path" rev-parse -q --verify "$want^{commit}") ||
        die "no commit $want ($(base_get tag)) in $source_path" \
          "git -C $source_path fetch --depth 1 origin tag $(base_get tag)"
      [ "$got" = "$want" ] || die "$want in $source_path is not a commit" ;;
  esac
}

# private_git DEST ARGS...: git on DEST through DEST.git.
private_git() {
  local dest=$1
  shift
  git --git-dir="$dest.git" --work-tree="$dest" -c core.fileMode=true \
    -c core.autocrlf=false -c core.quotePath=false "$@"
}

# extract_base DEST: a fresh DEST holding the base. Prints the base's tree.
extract_base() {
  local dest=$1 want tree
  rm -rf "$dest" "$dest.git"
  mkdir -p "$dest"
  git init -q --bare "$dest.git"
  git --git-dir="$dest.git" config gc.auto 0 # git am starts one in the background
  if [ "$source_kind" = tarball ]; then
    tar -xJf "$source_path" --strip-components=1 --no-same-owner -C "$dest" ||
      die "cannot unpack $source_path"
    private_git "$dest" -c core.compression=1 add -A -f .
    tree=$(private_git "$dest" write-tree)
    want=$(base_get tree)
    [ "$tree" = "$want" ] || die "the unpacked tarball is not the base" \
      "expected tree $want" "found    tree $tree" "Is the disk full, or tar unusual?"
  else
    local objects
    objects=$(git -c safe.directory='*' -C "$source_path" rev-parse --git-path objects)
    (cd "$source_path" && cd "$objects" && pwd) > "$dest.git/objects/info/alternates"
    # A shallow repository's history ends early; only the commit's tree is used.
    tree=$(private_git "$dest" rev-parse "$(base_get commit)^{tree}")
    private_git "$dest" read-tree -u --reset "$tree"
    write_revision "$dest"
  fi
  printf '%s\n' "$tree"
}

# fresh_repository WORK: WORK/tree, a repository with the base as its HEAD, to apply patches in.
# Goes there; sets the caller's base_tree.
fresh_repository() {
  base_tree=$(extract_base "$1/tree")
  export GIT_DIR=$1/tree.git GIT_WORK_TREE=$1/tree
  cd "$1/tree"
  git config core.bare false
  git update-ref HEAD "$(git -c user.name=s -c user.email=s commit-tree -m base "$base_tree")"
}

# write_revision DEST: what CRuby's build writes when the source is its own clone,
# and what the tarball holds.
write_revision() {
  local commit date
  commit=$(base_get commit)
  date=$(private_git "$1" show -s --format=%cd --date=format-local:%Y-%-m-%-d "$commit")
  {
    printf '#define RUBY_REVISION "%.10s"\n' "$commit"
    printf '#define RUBY_FULL_REVISION "%s"\n' "$commit"
    printf '%s\n' "$date" | awk -F- '{
      printf "#define RUBY_RELEASE_YEAR %d\n#define RUBY_RELEASE_MONTH %d\n", $1, $2
      printf "#define RUBY_RELEASE_DAY %d\n", $3 }'
  } > "$1/revision.h"
}

# patched_tree DEST BASE-TREE: the tree of the base with the series on it.
patched_tree() {
  local dest=$1 index=$1.git/series-index p
  rm -f "$index"
  GIT_INDEX_FILE=$index private_git "$dest" read-tree "$2"
  while IFS= read -r p; do
    GIT_INDEX_FILE=$index private_git "$dest" apply --cached --whitespace=nowarn "$p" >&2 ||
      die "${p##*/} does not apply to CRuby $(base_get version)" \
        "The series is exported from commits: fix it there and run scripts/series export."
  done < <(series_patches)
  GIT_INDEX_FILE=$index private_git "$dest" write-tree
  rm -f "$index"
}

# files_hash DIFF...: the files= hash; the arguments run git diff-tree's two trees.
files_hash() {
  "$@" diff-tree -r --no-renames --raw "$base_tree" "$new_tree" |
    sed 's/^:[0-7]* \([0-7]*\) [0-9a-f]* \([0-9a-f]*\) [A-Z]	/\1 \2 /' |
    LC_ALL=C sort | sha256sum | cut -d' ' -f1
}

# compare_tree GIT...: base_tree and new_tree against TREE.
compare_tree() {
  local want got
  [ -r "$SERIES_DIR/TREE" ] || die "no TREE in $SERIES_DIR" "scripts/series export writes it."
  want=$(tree_get files)
  got=$(files_hash "$@")
  [ "$got" = "$want" ] || die "the patched files are not those that TREE names" \
    "expected files=$want" "found    files=$got" \
    "TREE and the patches come from one export: scripts/series export GITTREE"
  [ "$source_kind" = tarball ] || return 0
  want=$(tree_get tarball)
  [ "$new_tree" = "$want" ] || die "the patched tree is not the one that TREE names" \
    "expected tarball=$want" "found    tarball=$new_tree" \
    "TREE and the patches come from one export: scripts/series export GITTREE"
}

# hand_edits DEST: files of DEST that differ from its recorded state. A build writes
# generated files into the source tree; those do not count.
hand_edits() {
  local f
  private_git "$1" update-index -q --refresh >/dev/null || :
  private_git "$1" diff-files --name-only | while IFS= read -r f; do
    is_generated "$f" || printf '%s\n' "$f"
  done
}

series_apply() {
  local dest=${1%/} base_tree new_tree old_tree edits identity
  git_isolate
  identity="$source_kind $(base_get "$([ "$source_kind" = git ] && echo commit || echo sha256)")"
  if [ "$(cat "$dest.git/source" 2>/dev/null)" = "$identity" ]; then
    base_tree=$(cat "$dest.git/base")
  else
    say "unpacking CRuby $(base_get version) into $dest"
    base_tree=$(extract_base "$dest")
    printf '%s\n' "$base_tree" > "$dest.git/base"
    printf '%s\n' "$base_tree" > "$dest.git/built"
    printf '%s\n' "$identity" > "$dest.git/source" # last: DEST is complete
  fi
  old_tree=$(cat "$dest.git/built")
  edits=$(hand_edits "$dest")
  [ -z "$edits" ] || die "files in $dest were changed by hand:" $edits \
    "That tree is only ever written from the patch series. To keep the changes, commit" \
    "them in a tree of your own and export it; to drop them: rm -rf $dest"
  new_tree=$(patched_tree "$dest" "$base_tree")
  compare_tree private_git "$dest"
  [ "$new_tree" = "$old_tree" ] && return 0
  private_git "$dest" read-tree -m -u "$old_tree" "$new_tree" ||
    die "cannot bring $dest to the new state of the series" "rm -rf $dest and try again."
  printf '%s\n' "$new_tree" > "$dest.git/built"
  say "applied $(series_patches | wc -l) patches: $(private_git "$dest" \
    diff-tree -r --name-only "$old_tree" "$new_tree" | wc -l) files written"
}

# write_tree_file GIT...: TREE for base_tree and new_tree.
write_tree_file() {
  {
    echo "# The tree after the series, written by scripts/series export."
    echo "# tarball: git write-tree of the patched release tarball. files: sha256 of the sorted"
    echo "# lines 'mode blob path' of every file that the series changes, for either source."
    printf 'tarball=%s\n' "$new_tree"
    printf 'files=%s\n' "$(files_hash "$@")"
  } > "$SERIES_DIR/TREE"
}

# base_commit_of GITTREE: the newest ancestor whose tree is the tarball's.
base_commit_of() {
  local want
  want=$(base_get tree)
  git -C "$1" log --format='%H %T' | awk -v t="$want" '$2 == t { print $1; exit }'
}

series_export() {
  local tree=$1 base=$2 base_tree new_tree out merges
  git_isolate
  [ -n "$(git -C "$tree" rev-parse -q --git-dir)" ] || die "$tree is not a git tree"
  [ -n "$base" ] || base=$(base_commit_of "$tree")
  [ -n "$base" ] || die "no ancestor of $tree's HEAD has the base's tree" \
    "Name the base commit: scripts/series export $tree COMMIT"
  base_tree=$(git -C "$tree" rev-parse "$base^{tree}")
  new_tree=$(git -C "$tree" rev-parse "HEAD^{tree}")
  [ "$base_tree" = "$(base_get tree)" ] || die "$base is not the release tarball" \
    "expected tree $(base_get tree)" "found    tree $base_tree"
  merges=$(git -C "$tree" rev-list --merges "$base..HEAD" | head -n 1)
  [ -z "$merges" ] || die "merge commit $merges in the series" "Rebase it away."
  out=$(mktemp -d)
  trap "rm -rf '$out'" EXIT
  git -C "$tree" -c diff.noprefix=false -c diff.mnemonicPrefix=false -c core.abbrev=40 \
    "${FORMAT_PATCH[@]}" -q -o "$out" "$base..HEAD"
  series_patches | while IFS= read -r p; do rm -f "$p"; done
  find "$out" -name '*.patch' -exec mv {} "$SERIES_DIR/" \;
  write_tree_file git -C "$tree"
  say "exported $(series_patches | wc -l) patches to $SERIES_DIR"
}
