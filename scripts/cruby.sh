# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Makes build/src the patched tree and runs CRuby's own configure in build/ruby, each only
# when its inputs changed. Sourced by configure.sh.

# prepare_tree: build/src = base + series. The series script does nothing when it is that already.
prepare_tree() {
  "$TOP/scripts/series" "--$source_kind=$source_path" apply "$BUILD/src"
  found "patched tree" "$(cat "$BUILD/src.git/built") ($(series_patches | wc -l) patches)"
}

# generate_configure: only for the git source, or when the series changes configure.ac.
generate_configure() {
  local src=$BUILD/src
  if [ -e "$src/configure" ] && [ -z "$(find "$src/configure.ac" "$src/tool/m4" \
    -newer "$src/configure" -print -quit)" ]; then return; fi
  say "running autogen.sh"
  (cd "$src" && ./autogen.sh --install) > "$BUILD/autogen.log" 2>&1 || {
    tail -n 5 "$BUILD/autogen.log" >&2
    die "CRuby's autogen.sh failed" "The log: $BUILD/autogen.log"
  }
  touch "$src/configure" # autoconf leaves an equal file alone
}

# cruby_arguments: sets the array cruby_args. What comes after -- comes last, so it wins.
cruby_arguments() {
  cruby_args=("--prefix=$PREFIX" --disable-install-doc --without-git)
  cruby_args+=("--with-baseruby=${BASERUBY:-no}")
  [ "$yjit" = no ] || cruby_args+=(--enable-yjit "RUSTC=$RUSTC")
  cruby_args+=("CC=$CC")
  [ -z "${AR-}" ] || cruby_args+=("AR=$AR")
  [ -z "${NM-}" ] || cruby_args+=("NM=$NM")
  [ -z "${RANLIB-}" ] || cruby_args+=("RANLIB=$RANLIB")
  local cflags=${CFLAGS-} pointers='-fno-omit-frame-pointer -mno-omit-leaf-frame-pointer'
  if [ "$frame_pointers" = yes ]; then
    # Given CFLAGS replace CRuby's own, debugflags among them.
    if [ -n "$cflags" ]; then cflags+=" $pointers"; else cruby_args+=("debugflags=-ggdb3 $pointers"); fi
  fi
  [ -z "$cflags" ] || cruby_args+=("CFLAGS=$cflags")
  [ -z "${CPPFLAGS-}" ] || cruby_args+=("CPPFLAGS=$CPPFLAGS")
  [ -z "${LDFLAGS-}" ] || cruby_args+=("LDFLAGS=$LDFLAGS")
  cruby_args+=("${user_args[@]}")
}

# cruby_configure: runs it when an argument, a compiler or the configure script changed. The
# old objects then go: CRuby's Makefile does not rebuild them for new flags.
cruby_configure() {
  local dir=$BUILD/ruby key=$BUILD/ruby.configured
  {
    printf '%s\n' "${cruby_args[@]}" "$cc_version" "ccache: $CCACHE_PATH"
    [ "$yjit" = no ] || "$RUSTC" --version
    sha256_of "$BUILD/src/configure"
  } > "$key.new"
  if [ -e "$dir/Makefile" ] && cmp -s "$key" "$key.new"; then
    rm "$key.new"
    found "CRuby's configure" "unchanged"
    return
  fi
  found "CRuby's configure" "running"
  rm -rf "$dir" "$key"
  mkdir -p "$dir"
  (cd "$dir" && PATH=${CCACHE_PATH:+$CCACHE_PATH:}$PATH \
    env -u AR -u NM -u RANLIB -u RUSTC -u RUBYOPT -u RUBYLIB \
    ../src/configure "${cruby_args[@]}") > "$BUILD/ruby-configure.log" 2>&1 || {
    tail -n 15 "$BUILD/ruby-configure.log" >&2
    die "CRuby's configure failed" "The logs: $BUILD/ruby-configure.log, $dir/config.log"
  }
  [ "$yjit" = no ] || grep -q '^YJIT_SUPPORT *= *yes' "$dir/Makefile" ||
    die "CRuby's configure did not enable YJIT" "See $BUILD/ruby-configure.log," \
      "or build without: ./configure.sh ... -- --disable-yjit"
  mv "$key.new" "$key"
}
