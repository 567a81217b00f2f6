# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# A tiny project around a tiny "CRuby", so that the scripts can be tested in a second: the
# real scripts, a tarball of four files, and the same as a git repository, which lacks the
# generated one. Sourced by run; `work` is a scratch directory.

passed=0 failed=0
pass() { passed=$((passed + 1)); printf 'ok      %s\n' "$1"; }
fail() { failed=$((failed + 1)); printf 'FAILED  %s: %s\n' "$1" "$2"; }

# expect NAME STATUS PATTERN COMMAND...: its exit status, and a regular expression that its
# output matches (empty: any).
expect() {
  local name=$1 want=$2 pattern=$3 out got=0
  shift 3
  out=$("$@" 2>&1) || got=$?
  if [ "$got" -ne "$want" ]; then
    fail "$name" "status $got, not $want: $out"
  elif [ -n "$pattern" ] && ! grep -Eq -- "$pattern" <<< "$out"; then
    fail "$name" "no line matches /$pattern/: $out"
  else
    pass "$name"
  fi
}
# is NAME GOT WANT
is() { if [ "$2" = "$3" ]; then pass "$1"; else fail "$1" "'$2', not '$3'"; fi; }

# new_project: an empty project P with the scripts, a base, no patch. Its parts: P/base.tar.xz,
# P/upstream (git, the commit of BASE), P/dev (the developer's tree on the tarball).
new_project() {
  P=$(mktemp -d "$work/projectXXXXXX")
  mkdir -p "$P/patches/ruby-3.4" "$P/include/ruby"
  cp -r "$TOP/scripts" "$TOP/configure.sh" "$TOP/Makefile" "$TOP/.gitmodules" "$P/"
  mkdir "$P/dev"
  (
    cd "$P/dev"
    printf 'one\ntwo\nthree\nfour\nfive\n' > vm.c
    echo 'int main(void) { return 0; }' > main.c
    echo 'AC_INIT' > configure.ac
    fake_configure > configure
    printf '#!/bin/sh\n# regenerates\ncat > configure <<"EOF"\n%s\n# generated\nEOF\nchmod +x configure\n' \
      "$(fake_configure)" > autogen.sh
    chmod +x configure autogen.sh
    mkdir -p tool/m4
    touch -d 2025-01-01 configure.ac tool/m4 vm.c main.c
    tar -cJf "$P/base.tar.xz" --transform 's,^\.,ruby,' .
    git init -q -b main .
    git add -A -f
    git commit -q -m base
  )
  cp -r "$P/dev" "$P/upstream"
  (cd "$P/upstream" && git rm -q configure && git commit -q --amend -m v1)
  {
    echo "version=9.9.9"
    echo "tag=v9_9_9"
    echo "commit=$(git -C "$P/upstream" rev-parse HEAD)"
    echo "tarball=base.tar.xz"
    echo "sha256=$(sha256sum < "$P/base.tar.xz" | cut -d' ' -f1)"
    echo "tree=$(git -C "$P/dev" rev-parse 'HEAD^{tree}')"
    echo "deb_source=tiny"
    echo "deb_version=9.9.9-1"
    echo "deb_suites=one two"
  } > "$P/patches/ruby-3.4/BASE"
  "$P/scripts/series" export "$P/dev" > /dev/null
}

# fake_configure: what CRuby's configure leaves behind, as far as our scripts look at it.
fake_configure() {
  cat <<'EOF'
#!/bin/sh
echo "YJIT_SUPPORT = yes" > Makefile
printf '%s\n' "$@" > arguments
EOF
}

# commit FILE CONTENT SUBJECT [BODY]: a commit in the developer's tree.
commit() {
  mkdir -p "$(dirname "$P/dev/$1")"
  printf '%b' "$2" > "$P/dev/$1"
  git -C "$P/dev" add -f "$1"
  git -C "$P/dev" commit -q -m "$3" -m "${4-Why it is so.}"
}
series() { "$P/scripts/series" "$@"; }
export_series() { series export "$P/dev" > /dev/null; }
apply() { series apply --tarball="$P/base.tar.xz" "$P/src"; }
# configure ARGS...: on the tiny project, with stand-ins for the tools that only the real
# CRuby needs (see run).
configure() {
  (cd "$P" && PATH=$PATH:$work/bin RUSTC=$work/bin/rustc BASERUBY=${BASERUBY-} CCACHE=no \
    ./configure.sh --no-install-deps --without-extprof "$@")
}
