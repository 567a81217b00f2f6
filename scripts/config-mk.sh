# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Writes config.mk. Sourced by configure.sh.

# mk COMMENT NAME VALUE
mk() {
  local v=${3//\$/\$\$}
  printf '# %s\n%s = %s\n' "$1" "$2" "${v//#/\\#}"
}

write_config_mk() {
  local out=$TOP/config.mk
  {
    echo "# What ./configure.sh found. Do not edit: run it again."
    mk "Its own arguments." CONFIGURE_ARGS "$configure_args"
    mk "Where make install puts ruby and extprof; compiled into ruby." PREFIX "$PREFIX"
    mk "Everything that is built is under this directory." BUILD "$BUILD"
    mk "Parallel jobs, when make itself was not given -j." JOBS "$JOBS"
    mk "The Ruby that is built: its patches are in patches/ruby-..." RUBY_SERIES "$ruby"
    mk "The state of these patches in the tree that is built." SERIES_KEY "$(series_key)"
    mk "Where CRuby's source came from: tarball or git, and its path." RUBY_SOURCE "$source_kind $source_path"
    mk "yes when extprof is built too." WITH_EXTPROF "$with_extprof"
    mk "C compiler, of ruby and extprof." CC "$CC"
    mk "From the environment; empty means each part's own default." CFLAGS "${CFLAGS-}"
    mk "clang that compiles for BPF." CLANG "${CLANG-}"
    mk "Generates the BPF skeleton." BPFTOOL "${BPFTOOL-}"
    mk "Generates C from .proto files." PROTOC_C "${PROTOC_C-}"
    mk "Compiles YJIT." RUSTC "${RUSTC-}"
    mk "Set where plain ar would load LLVM's plugin." AR_FOR_RUBY "${AR-}"
    mk "Runs CRuby's generators, when those have to run." BASERUBY "${BASERUBY-}"
    mk "Directory of compiler links to ccache, first in PATH while ruby is compiled." CCACHE_PATH "$CCACHE_PATH"
    mk "yes when YJIT is built in." YJIT "$yjit"
  } > "$out.tmp"
  if cmp -s "$out" "$out.tmp"; then rm "$out.tmp"; else mv "$out.tmp" "$out"; fi
}
