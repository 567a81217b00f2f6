# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Finds compilers, tools and headers. Sourced by configure.sh, which may call
# detect_tools twice: before and after the missing packages are installed.
# Results are the variables that write_config_mk writes; `missing` lists what to install.

missing=() # "package: what for"
wanted=()  # the same, of what can be left out: installed along, but never asked for alone
need() { missing+=("$1: $2"); }
want() { wanted+=("$1: $2"); }

# first_tool NAME...: path of the first that exists, also outside root's PATH.
first_tool() {
  local t
  for t; do
    PATH=$PATH:/usr/sbin:/sbin:$HOME/.cargo/bin command -v "$t" && return 0
  done
  return 1
}

# at_least HAVE WANT: dotted versions.
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# version_in: the first dotted number on standard input.
version_in() { sed -n 's/[^0-9]*\([0-9][0-9]*\(\.[0-9][0-9]*\)*\).*/\1/p' | head -n 1; }

# has_header HEADER [LIBS [PREPROCESSOR LINES]]: compiles and links with CC. Without a
# compiler nothing can be known: all headers' packages are then named with it.
has_header() {
  [ -n "${CC-}" ] || return 1
  printf '#include <stddef.h>\n#include <stdio.h>\n#include <%s>\n%s\nint main(void) { return 0; }\n' \
    "$1" "${3-}" | $CC -x c -o "$scratch/a.out" - ${2-} >/dev/null 2>&1
}

detect_cc() {
  local c
  for c in ${CC:-gcc cc clang}; do
    if echo 'int main(void) { return 0; }' |
      $c -x c -o "$scratch/a.out" - > /dev/null 2>&1; then
      CC=${CC:-$c}
      cc_version=$($CC --version | head -n 1)
      found "C compiler" "$CC ($cc_version)"
      return
    fi
  done
  [ -z "${CC-}" ] || die "CC=$CC does not compile a C program"
  need gcc "C compiler"; need libc6-dev "C library headers"
}

# detect_demangler: one object of libstdc++.a reads names of C++, see tools/extprof/library.mk.
detect_demangler() {
  case $(${CC:-gcc} -print-file-name=libstdc++.a 2>/dev/null) in
    /*) ;;
    *) want g++ "only for names of C++ and Rust in extprof --native" ;;
  esac
}

# detect_curl: extprof push loads it when it is called; to compile it, the headers are needed.
detect_curl() {
  has_header curl/curl.h '' '#if LIBCURL_VERSION_NUM < 0x074200
#error libcurl 7.66 or newer
#endif' || want libcurl4-openssl-dev "only for extprof push, 7.66 or newer"
}

# detect_microhttpd: the same of extprof serve.
detect_microhttpd() {
  has_header microhttpd.h '' '#if MHD_VERSION < 0x00097100
#error libmicrohttpd 0.9.71 or newer
#endif' || want libmicrohttpd-dev "only for extprof serve, 0.9.71 or newer"
}

# detect_lzma: unpacks the symbols that stripped files of some distributions have.
detect_lzma() {
  has_header lzma.h -llzma || want liblzma-dev "only for names of functions of stripped files in extprof --native"
}

# detect_libdw: extprof-lines reads debug information by it, in a process of its own.
detect_libdw() {
  has_header elfutils/libdw.h -ldw || want libdw-dev "only for lines and inlined functions of native code"
}

detect_clang() {
  local c v
  for c in ${CLANG:-clang clang-21 clang-20 clang-19 clang-18 clang-17 clang-16 clang-15 clang-14}; do
    c=$(first_tool "$c") || continue
    v=$("$c" --version | sed -n 's/.*version \([0-9][0-9.]*\).*/\1/p' | head -n 1)
    at_least "$v" 14 || continue
    echo 'int x;' | "$c" -target bpf -O2 -g -x c -c -o "$scratch/a.o" - 2>/dev/null || continue
    CLANG=$c
    found "clang for BPF" "$CLANG $v"
    return
  done
  [ -z "${CLANG-}" ] || die "CLANG=$CLANG is not a clang >= 14 with the bpf target"
  need clang "BPF compiler, 14 or newer"
}

# What clang links fuzzers with.
detect_fuzzer() {
  local v=14
  if [ -n "${CLANG-}" ]; then
    v=$("$CLANG" --version | sed -n 's/.*version \([0-9]*\).*/\1/p' | head -n 1)
    echo 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return !d && n; }' |
      "$CLANG" -fsanitize=fuzzer,address -x c -o "$scratch/fuzzer" - 2>/dev/null && return
  fi
  want "libclang-rt-$v-dev" "only for make fuzz"
}

detect_bpftool() {
  local b
  if b=$(first_tool "${BPFTOOL:-bpftool}") && "$b" version >/dev/null 2>&1; then
    BPFTOOL=$b
    found bpftool "$BPFTOOL ($("$b" version | head -n 1))"
  else
    [ -z "${BPFTOOL-}" ] || die "BPFTOOL=$BPFTOOL does not run"
    need bpftool "generates extprof's BPF skeleton"
  fi
}

detect_extprof_libs() {
  has_header bpf/libbpf.h -lbpf '#include <bpf/libbpf_version.h>
#if LIBBPF_MAJOR_VERSION < 1
#error libbpf 1.0 or newer
#endif' || need libbpf-dev "loads BPF programs, 1.0 or newer"
  has_header gelf.h -lelf || need libelf-dev "reads core files for extprof dump"
  has_header curses.h -lncursesw '#define NCURSES_WIDECHAR 1
#include <curses.h>' || need libncurses-dev "the screen of extprof top, with letters of all languages"
  has_header uniwidth.h -lunistring ||
    need libunistring-dev "tells how wide letters are, so that extprof's tables are aligned"
  has_header sqlite3.h -lsqlite3 '#if SQLITE_VERSION_NUMBER < 3037000
#error SQLite 3.37 or newer
#endif' || need libsqlite3-dev "writes and reads recordings, 3.37 or newer"
  has_header zlib.h -lz || need zlib1g-dev "compresses extprof's recordings and pprof output"
  has_header jansson.h -ljansson '#if JANSSON_VERSION_HEX < 0x020b00
#error jansson 2.11 or newer
#endif' || need libjansson-dev "writes extprof's JSON outputs, 2.11 or newer"
  has_header sys/capability.h -lcap || need libcap-dev "gives back capabilities that extprof does not need"
  has_header seccomp.h -lseccomp || need libseccomp-dev "keeps the parser of programs' files from all that it does not need"
  has_header protobuf-c/protobuf-c.h -lprotobuf-c '#if PROTOBUF_C_VERSION_NUMBER < 1003000
#error protobuf-c 1.3 or newer
#endif' || need libprotobuf-c-dev "writes extprof's pprof output, 1.3 or newer"
}

detect_protoc_c() {
  local p
  if p=$(first_tool "${PROTOC_C:-protoc-c}") && "$p" --version >/dev/null 2>&1; then
    PROTOC_C=$p
    found protoc-c "$PROTOC_C ($("$p" --version | head -n 1))"
  else
    [ -z "${PROTOC_C-}" ] || die "PROTOC_C=$PROTOC_C does not run"
    need protobuf-c-compiler "generates C from extprof's .proto files"
  fi
}

detect_rustc() {
  local v
  [ "$yjit" = yes ] || return 0
  if RUSTC=$(first_tool "${RUSTC:-rustc}"); then
    v=$("$RUSTC" --version | version_in)
    if [ -n "$v" ] && at_least "$v" 1.58; then
      found "rustc for YJIT" "$RUSTC $v"
      return
    fi
  fi
  need rustc "YJIT, 1.58 or newer (or pass -- --disable-yjit)"
}

detect_ruby_libs() {
  has_header yaml.h -lyaml || need libyaml-dev "psych, so RubyGems"
  has_header ffi.h -lffi || need libffi-dev "fiddle"
  has_header openssl/ssl.h "-lssl -lcrypto" || need libssl-dev "openssl"
  has_header zlib.h -lz || need zlib1g-dev "zlib, so RubyGems"
  has_header gmp.h -lgmp || need libgmp-dev "fast large integers"
}

# A base ruby runs CRuby's generators; the tarball is generated already, so it is needed only
# for the git source or when the series touches a generator's input. /usr/bin comes first, so
# that a ruby which this project installed is not taken by accident.
detect_baseruby() {
  local r why=$1
  for r in ${BASERUBY:-/usr/bin/ruby ruby}; do
    r=$(command -v "$r") || continue
    if RUBYOPT='' "$r" --disable=gems -rerb -rfileutils -rtempfile -e \
      'exit RUBY_VERSION.to_f >= 3.0' >/dev/null 2>&1; then
      BASERUBY=$r
      found "base ruby" "$BASERUBY ($why)"
      return
    fi
  done
  need ruby "base ruby, 3.0 or newer: $why"
}

# Debian's clang depends on llvm-N-linker-tools, which installs a plugin that plain ar, nm
# and ranlib load by themselves. It aborts on objects of a newer LLVM, such as YJIT's from a
# current rustc ("LLVM ERROR: Invalid encoding"). gcc's wrappers load gcc's plugin instead.
detect_ar() {
  local dir f plugin='' ar_dir
  ar_dir=$(dirname "$(dirname "$(readlink -f "$(command -v ar)")")")
  for dir in "$ar_dir"/lib/bfd-plugins "$ar_dir"/lib/*/bfd-plugins /usr/lib/bfd-plugins; do
    for f in "$dir"/LLVMgold*; do
      [ -e "$f" ] && plugin=$f
    done
  done
  [ -n "$plugin" ] && [ "$yjit" = yes ] || return 0
  if [ -z "${AR-}${NM-}${RANLIB-}" ]; then
    first_tool gcc-ar >/dev/null ||
      die "ar would load $plugin, which may abort on YJIT's object" \
        "Install gcc (for gcc-ar, gcc-nm, gcc-ranlib), or set AR, NM and RANLIB."
    AR=gcc-ar NM=gcc-nm RANLIB=gcc-ranlib
  fi
  found "ar, nm, ranlib" "${AR-ar} ${NM-nm} ${RANLIB-ranlib} (plain ar loads ${plugin##*/})"
}

# A directory with links named like the compiler, put first in PATH for CRuby's build:
# rbconfig.rb then still says CC = gcc, and gems compile where ccache is not installed.
detect_ccache() {
  local c=${CCACHE-$(command -v ccache || :)}
  CCACHE_PATH=
  case $CC in *[\ /]*) return 0 ;; esac
  [ -n "$c" ] && [ "$c" != no ] || return 0
  CCACHE_PATH=$BUILD/ccache
  mkdir -p "$CCACHE_PATH"
  ln -sf "$c" "$CCACHE_PATH/$CC"
  found ccache "$c"
}

# detect_tools: everything that does not depend on which source is used.
detect_tools() {
  local last
  missing=() wanted=()
  detect_cc
  first_tool make >/dev/null || need make "GNU make"
  first_tool git >/dev/null || need git "applies the patch series"
  first_tool xz >/dev/null || need xz-utils "unpacks the tarball"
  first_tool pkg-config >/dev/null || need pkg-config "CRuby's configure asks it for libraries"
  detect_ruby_libs
  detect_rustc
  first_tool dh >/dev/null || want debhelper "only for make deb"
  first_tool qemu-x86_64 qemu-aarch64 >/dev/null || want qemu-user "only for make bench and check-cost"
  if [ "$with_extprof" = yes ]; then
    detect_clang
    detect_demangler
    detect_curl
    detect_microhttpd
    detect_lzma
    detect_libdw
    detect_fuzzer
    detect_bpftool
    detect_extprof_libs
    detect_protoc_c
    first_tool python3 >/dev/null || want python3 "only for the tests of make check"
    first_tool pgrep >/dev/null || want procps "only for the tests of make check"
    first_tool tmux >/dev/null || want tmux "only for the tests of make check"
  fi
  last=$(sed -n 's,^--with-baseruby=/,/,p' "$BUILD/ruby.configured" 2>/dev/null || :)
  if series_has is_generator_input; then
    detect_baseruby "the series changes inputs of CRuby's generators"
  elif [ -n "$last" ]; then
    # The series touched such an input and takes it back now: its output is stale.
    BASERUBY=${BASERUBY:-$last}
    detect_baseruby "it generated files of this build before"
  fi
  if series_has is_autoconf_input; then
    first_tool autoconf >/dev/null || need autoconf "the series changes configure.ac"
  fi
}

# detect_for_git: what the submodule needs beyond the tarball. (CRuby generates its parser
# with its own lrama since 3.3, and ships gperf's output: neither bison nor gperf is run.)
detect_for_git() {
  missing=() wanted=()
  detect_baseruby "the git source has no generated files"
  first_tool autoconf >/dev/null || need autoconf "the git source has no configure"
  [ -e /etc/ssl/certs/ca-certificates.crt ] || want ca-certificates "only to download the bundled gems"
}
