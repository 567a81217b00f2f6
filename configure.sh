#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Gets a machine and a build directory ready for `make`. Each step is one file in scripts/.
set -euo pipefail
PROG=configure.sh
TOP=$(cd "$(dirname "$0")" && pwd)
for part in lib detect deps source cruby config-mk; do
  . "$TOP/scripts/$part.sh"
done

usage() {
  cat <<'EOF'
usage: ./configure.sh [OPTION]... [-- CRUBY-OPTION...]

Finds compilers and libraries, gets CRuby's source, applies the patch series and runs
CRuby's own configure. Then `make` builds a patched ruby (with YJIT) and extprof under
build/, and `make install` installs both. It can be run again at any time: it does only
what changed, and after a change of patches/ the next make compiles only what they touch.

Where things go
  --prefix=DIR          install to DIR/bin, DIR/lib, ... [/usr/local]
                        (make install DESTDIR=ROOT stages it under ROOT)
  --build-dir=DIR       build in DIR [build]
  --jobs=N              parallel jobs of make [number of CPUs]

Packages
  --install-deps        install missing Debian packages (with sudo unless root);
                        this is the default when run as root
  --no-install-deps     only list them, with the command that installs them

Source: CRuby 3.4.5, first that applies; its checksum or commit must be the right one
  --ruby=3.3            CRuby 3.3.8 with the patches of patches/ruby-3.3; give it a build
                        directory of its own [3.4]
  --ruby-tarball=PATH   this release tarball (ruby3.4_3.4.5.orig.tar.xz)
  --ruby-from=WHERE     submodule: the git submodule ruby/, fetched if need be;
                        debian: Debian's source package
  (neither)             ruby/ if it is checked out; else the tarball in ruby/, where
                        make dist puts it; else what was used the last time;
                        else ruby/ if GitHub answers; else Debian's source package,
                        through an apt configuration of our own in build/apt
                        (the system's sources, lists and keys stay as they are)

What is built
  --without-extprof     only ruby: no clang, bpftool or libraries of extprof's needed
  --enable-frame-pointers
                        compile ruby with frame pointers, for perf and others that walk
                        native stacks by them; off: benchmarks/README.md has their cost
  -- CRUBY-OPTION...    passed on to CRuby's configure, after our own arguments, e.g.
                        --enable-shared, --disable-yjit (then no rustc), cppflags=-DX=1

Environment
  CC CFLAGS CPPFLAGS LDFLAGS    compiler and flags, of ruby and extprof
  CLANG BPFTOOL RUSTC BASERUBY  tools, where those in PATH are not the right ones
  AR NM RANLIB                  chosen by us where Debian's llvm plugin would break ar
  CCACHE                        ccache's path, or `no`; it is used when it is installed

Examples
  ./configure.sh && make install
  ./configure.sh --prefix=$HOME/ruby --jobs=4 -- --enable-shared
  ./configure.sh --ruby-tarball=../ruby3.4_3.4.5.orig.tar.xz && make check
  ./configure.sh --ruby=3.3 --build-dir=build-3.3 && make
  CC=clang CFLAGS=-O1 ./configure.sh --build-dir=/tmp/b --without-extprof

What was found is written to config.mk, which make reads.
EOF
}

PREFIX=/usr/local BUILD=$TOP/build JOBS=$(nproc)
install_deps=auto with_extprof=yes frame_pointers=no ruby=3.4 ruby_tarball='' ruby_from=auto user_args=()
configure_args=$([ $# -eq 0 ] || printf '%q ' "$@")

while [ $# -gt 0 ]; do
  case $1 in
    --prefix=*) PREFIX=${1#*=} ;;
    --build-dir=*) BUILD=${1#*=} ;;
    --jobs=*) JOBS=${1#*=} ;;
    --install-deps) install_deps=yes ;;
    --no-install-deps) install_deps=no ;;
    --ruby=*) ruby=${1#*=} ;;
    --ruby-tarball=*) ruby_tarball=${1#*=} ;;
    --ruby-from=submodule|--ruby-from=debian) ruby_from=${1#*=} ;;
    --without-extprof) with_extprof=no ;;
    --with-extprof) with_extprof=yes ;;
    --enable-frame-pointers) frame_pointers=yes ;;
    -h|--help) usage; exit 0 ;;
    --) shift; user_args=("$@"); break ;;
    *) die "unknown option $1" "./configure.sh --help lists them;" \
      "options of CRuby's own configure come after --" ;;
  esac
  shift
done

case $PREFIX in /*) ;; *) die "--prefix must be an absolute path, not '$PREFIX'" ;; esac
[ "$PREFIX" = / ] || PREFIX=${PREFIX%/}
[[ $JOBS =~ ^[1-9][0-9]*$ ]] || die "--jobs must be a number, not '$JOBS'"
series_for "$ruby"
[ -z "$ruby_tarball" ] || [ "$ruby_from" = auto ] ||
  die "--ruby-tarball and --ruby-from exclude each other"
[ -z "$ruby_tarball" ] || [ -r "$ruby_tarball" ] || die "cannot read $ruby_tarball"
# The last one of several counts, as it does for CRuby's configure.
yjit=yes
for a in "${user_args[@]}"; do
  case $a in
    --disable-yjit|--enable-yjit=no) yjit=no ;;
    --enable-yjit*) yjit=yes ;;
    --prefix=*) die "give --prefix before --, as it is extprof's too" ;;
    CFLAGS=*|debugflags=*)
      [ "$frame_pointers" = no ] || die "--enable-frame-pointers would be lost by $a" \
        "add -fno-omit-frame-pointer to that, or set CFLAGS in the environment" ;;
  esac
done
case $BUILD in /*) ;; *) BUILD=$PWD/$BUILD ;; esac
[[ $TOP$BUILD$PREFIX != *[[:space:]:\$\#]* ]] ||
  die "make and CRuby cannot build in a path with blanks, colons, \$ or #" "$TOP" "$BUILD" "$PREFIX"
mkdir -p "$BUILD"
BUILD=$(cd "$BUILD" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

say "checking tools"
detect_tools
if install_missing; then
  say "" "checking again"
  detect_tools
  [ ${#missing[@]} -eq 0 ] || die "still missing after the installation:" "${missing[@]}"
fi

say "getting the source"
find_source
if [ "$source_kind" = git ]; then
  detect_for_git
  if install_missing; then
    detect_for_git
    [ ${#missing[@]} -eq 0 ] || die "still missing after the installation:" "${missing[@]}"
  fi
fi
detect_ar
detect_ccache
prepare_tree
generate_configure
cruby_arguments
cruby_configure
write_config_mk
if [ ! -r /sys/kernel/btf/vmlinux ] && [ "$with_extprof" = yes ]; then
  warn "this kernel has no BTF: extprof builds, but its eBPF reader cannot run here"
fi
say "" "Next: make    (make help lists the targets)"
