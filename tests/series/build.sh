# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# configure.sh, the Makefile and the suite runner on the tiny project. Sourced by run.

test_help() {
  new_project
  expect "--help" 0 '^usage: ./configure.sh' configure --help
  local help missing='' option
  help=$(configure --help)
  # Every option of the parser is explained.
  for option in $(sed -n 's/^    \(--[a-z-]*\)[=*|)].*/\1/p' "$P/configure.sh"); do
    case $option in --with-extprof|*-yjit) continue ;; esac # the default; CRuby's own
    grep -q -- "$option" <<< "$help" || missing="$missing $option"
  done
  is "every option is in it" "$missing" ""
  expect "an unknown option stops" 1 'unknown option --x' configure --x
  expect "a relative prefix stops" 1 'absolute' configure --prefix=x
  expect "--jobs must be a number" 1 'jobs' configure --jobs=many
}

test_configure() {
  new_project
  commit vm.c 'patched\n' 'vm: patch'
  export_series
  expect "configure" 0 "configure +running" configure --ruby-tarball="$P/base.tar.xz" --prefix=/opt/r -- --enable-shared 'cppflags=-DA -DB'
  is "the tree is patched" "$(cat "$P/build/src/vm.c")" patched
  is "CRuby's configure gets the prefix" "$(grep -c '^--prefix=/opt/r$' "$P/build/ruby/arguments")" 1
  is "and our user's arguments last, unsplit" "$(tail -n 2 "$P/build/ruby/arguments")" "$(printf -- '--enable-shared\ncppflags=-DA -DB')"
  touch -d 2025-03-03 "$P/config.mk" "$P/build/ruby/Makefile"
  expect "again, without naming the tarball" 0 'configure +unchanged' configure --prefix=/opt/r -- --enable-shared 'cppflags=-DA -DB'
  is "nothing is rebuilt" "$(stat -c %y "$P/build/ruby/Makefile" | cut -c1-10)" 2025-03-03
  expect "other arguments run it again" 0 'configure +running' configure
  expect "frame pointers are other flags" 0 'configure +running' configure --enable-frame-pointers
  is "beside CRuby's own" "$(grep -c '^debugflags=-ggdb3 -fno-omit-frame-pointer' "$P/build/ruby/arguments")" 1
  CFLAGS=-O1 expect "or at the end of the user's" 0 'configure +running' configure --enable-frame-pointers
  is "which replace CRuby's" "$(grep -c '^CFLAGS=-O1 -fno-omit-frame-pointer' "$P/build/ruby/arguments")" 1
  expect "but not with flags that replace them" 1 'lost by debugflags=-g' configure --enable-frame-pointers -- debugflags=-g
  commit configure.ac 'AC_INIT(x)\n' 'build: change configure.ac'
  export_series
  expect "a patch of configure.ac" 0 'running autogen.sh' configure
  is "makes a new configure" "$(tail -n 1 "$P/build/src/configure")" "# generated"
  expect "once" 0 'configure +unchanged' configure
  is "a tree of generated files needs no base ruby" "$(grep -c '^--with-baseruby=no$' "$P/build/ruby/arguments")" 1
  commit insns.def 'x\n' 'insns: change a generator input'
  export_series
  BASERUBY=$work/bin/ruby expect "a patch of a generator's input needs one" 0 "base ruby +$work/bin/ruby" configure
  git -C "$P/dev" reset -q --hard HEAD~1
  export_series
  expect "and so does taking it back" 0 "base ruby +$work/bin/ruby .*before" configure
}

test_submodule() {
  new_project
  cp -r "$P/upstream" "$P/ruby"
  commit vm.c 'patched\n' 'vm: patch'
  export_series
  export BASERUBY=$work/bin/ruby
  expect "the submodule is the source" 0 "CRuby 9.9.9 +$P/ruby" configure
  is "it is patched in build/" "$(cat "$P/build/src/vm.c")" patched
  is "and stays pristine" "$(git -C "$P/ruby" status --porcelain)" ""
  is "its configure is generated" "$(tail -n 1 "$P/build/src/configure")" "# generated"
  expect "a tarball that is named wins" 0 "CRuby 9.9.9 +$P/base.tar.xz" configure --ruby-tarball="$P/base.tar.xz"
  git -C "$P/ruby" commit -q --amend -m other
  git -C "$P/ruby" reflog expire --expire=now --all
  git -C "$P/ruby" gc -q --prune=now
  expect "another commit is not taken" 1 'cannot be checked out' configure --ruby-from=submodule
  unset BASERUBY
}

# A second directory of patches, for another Ruby.
test_another_ruby() {
  new_project
  commit vm.c 'patched\n' 'vm: patch'
  export_series
  cp -r "$P/patches/ruby-3.4" "$P/patches/ruby-3.3"
  commit vm.c 'patched otherwise\n' 'vm: patch it otherwise'
  expect "the other series is exported" 0 '2 patches to .*/ruby-3.3' series export --ruby=3.3 "$P/dev"
  is "and this one is as it was" "$(find "$P/patches/ruby-3.4" -name '*.patch' | wc -l)" 1
  expect "it is verified" 0 ' 0 failed' series verify --ruby=3.3 --tarball="$P/base.tar.xz"
  expect "--ruby=3.3 takes it" 0 "CRuby 9.9.9" configure --ruby=3.3 --ruby-tarball="$P/base.tar.xz" --build-dir="$P/b33"
  is "and builds it" "$(cat "$P/b33/src/vm.c")" "patched otherwise"
  is "make knows which" "$(sed -n 's/^RUBY_SERIES = //p' "$P/config.mk")" 3.3
  expect "again, without naming the tarball" 0 'configure +unchanged' configure --ruby=3.3 --build-dir="$P/b33"
  expect "the default is as it was" 0 "CRuby 9.9.9" configure --ruby-tarball="$P/base.tar.xz" --build-dir="$P/b34"
  is "with its own patches" "$(cat "$P/b34/src/vm.c")" patched
  expect "a Ruby without patches stops" 1 'no patches for Ruby 2.7' configure --ruby=2.7
}

test_configure_stops() {
  new_project
  echo x > "$P/bad.tar.xz"
  expect "configure: a wrong checksum stops" 1 'wrong checksum' configure --ruby-tarball="$P/bad.tar.xz"
  expect "configure: no such tarball stops" 1 'cannot read' configure --ruby-tarball="$P/none.tar.xz"
  is "and leaves no config.mk" "$(ls "$P/config.mk" 2>/dev/null)" ""
  sed -i 's/^files=./files=x/' "$P/patches/ruby-3.4/TREE"
  expect "configure: a TREE mismatch stops" 1 'not those that TREE names' configure --ruby-tarball="$P/base.tar.xz"
  is "and leaves no config.mk either" "$(ls "$P/config.mk" 2>/dev/null)" ""
  export_series
  # shellcheck disable=SC2030,SC2031
  expect "a missing package is named" 1 'rustc +YJIT' env RUSTC=/nonexistent "$P/configure.sh" \
    --no-install-deps --without-extprof --ruby-tarball="$P/base.tar.xz"
  expect "with the command that installs it" 1 'apt-get install .*rustc' env RUSTC=/nonexistent \
    "$P/configure.sh" --no-install-deps --without-extprof --ruby-tarball="$P/base.tar.xz"
  expect "which is not needed without YJIT" 0 '' env RUSTC=/nonexistent CCACHE=no "$P/configure.sh" \
    --no-install-deps --without-extprof --ruby-tarball="$P/base.tar.xz" -- --disable-yjit
  mkdir "$P/a b"
  expect "a path with a blank stops" 1 'blanks' configure --build-dir="$P/a b"
}

# Debian's llvm-N-linker-tools as seen by ar: a plugin beside it.
test_ar_plugin() {
  new_project
  mkdir -p "$P/root/bin" "$P/root/lib/bfd-plugins"
  ln -s "$(command -v ar)" "$P/root/ar.real"
  printf '#!/bin/sh\nexec ar.real "$@"\n' > "$P/root/bin/ar"
  chmod +x "$P/root/bin/ar"
  touch "$P/root/lib/bfd-plugins/LLVMgold-99.so"
  PATH=$P/root/bin:$PATH configure --ruby-tarball="$P/base.tar.xz" > /dev/null 2>&1 || :
  is "an LLVM plugin of ar leads to gcc-ar" "$(grep -c '^\(AR=gcc-ar\|NM=gcc-nm\|RANLIB=gcc-ranlib\)$' "$P/build/ruby/arguments")" 3
  AR=my-ar configure > /dev/null 2>&1 || :
  is "the user's AR wins" "$(grep '^AR=' "$P/build/ruby/arguments")" "AR=my-ar"
}

# An apt-get that records its arguments and, asked for a source, leaves GIVES in the directory.
fake_apt() {
  mkdir -p "$P/apt-bin"
  cat > "$P/apt-bin/apt-get" <<EOF
#!/bin/sh
echo "\$@" >> "$P/apt-calls"
case "\$*" in
  *print-uris*) echo "'http://mirror.example/debian/dists/stable/InRelease' x 0" ;;
  source*) [ -e "$1" ] && grep -q '^Suites: two' "\$(sed -n 's/^Dir::Etc::sourcelist "\(.*\)";/\1/p' "\$6")" && cp "$1" base.tar.xz ;;
esac
EOF
  chmod +x "$P/apt-bin/apt-get"
}

test_debian_source() {
  new_project
  if [ ! -r /usr/share/keyrings/debian-archive-keyring.gpg ]; then
    fail "Debian's source package" "no Debian keyring on this machine"
    return
  fi
  fake_apt "$P/base.tar.xz"
  PATH=$P/apt-bin:$PATH expect "the source comes from Debian" 0 'asking http://mirror.example/debian/ two' \
    configure --ruby-from=debian
  is "from the system's mirror, which is asked first" "$(sed -n 2p "$P/apt-calls")" \
    "update -c $P/build/apt/http___mirror.example_debian_one/apt.conf"
  is "never through the system's own lists" \
    "$(grep -v -e '-c .*/build/apt/' "$P/apt-calls")" "update --print-uris"
  new_project
  echo x > "$P/other"
  fake_apt "$P/other"
  PATH=$P/apt-bin:$PATH expect "its checksum counts too" 1 'wrong checksum' configure --ruby-from=debian
  new_project
  fake_apt "$P/nothing"
  PATH=$P/apt-bin:$PATH expect "no source at all stops" 1 'no mirror has' configure
  expect "and says what else to do" 1 'ruby-tarball=PATH' env PATH="$P/apt-bin:$PATH" \
    RUSTC="$work/bin/rustc" "$P/configure.sh" --without-extprof --no-install-deps
}

test_makefile() {
  new_project
  expect "make says that configure comes first" 2 'Run ./configure.sh first' make -C "$P"
  expect "make help does not need it" 0 'check-live' make -C "$P" help
  configure --ruby-tarball="$P/base.tar.xz" > /dev/null
  expect "make PREFIX= is refused" 2 'compiled into ruby' make -C "$P" PREFIX=/x ruby
  commit vm.c 'patched\n' 'vm: patch'
  export_series
  expect "make notices a changed series" 2 'changed since ./configure.sh ran' make -C "$P" ruby
  expect "and names the command" 2 "configure.sh .*--ruby-tarball=$P/base.tar.xz" make -C "$P" ruby
}

# suite STATUS OUTPUT
suite() {
  BUILD=$P/build "$P/scripts/run-suite" s sh -c "printf '%b' '$2'; exit $1"
}

test_suites() {
  new_project
  expect "a suite that passed" 0 '^-- s: 3 passed, 0 failed' suite 0 '1 passed, 9 failed\n3 passed, 0 failed\n'
  expect "skipped tests are shown" 0 '2 skipped' suite 0 '3 passed, 0 failed, 2 skipped\n'
  expect "a suite that failed" 1 '^-- s: 3 passed, 2 failed' suite 0 '3 passed, 2 failed\n'
  expect "a suite that ran nothing" 1 'ran no test' suite 0 '0 passed, 0 failed\n'
  expect "a suite without result" 1 'printed no result' suite 0 'hello\n'
  expect "a suite that crashed after its result" 1 'ended with status 3' suite 3 '3 passed, 0 failed\n'
  rm "$P/build/check/results"
  suite 0 '3 passed, 0 failed\n' > /dev/null
  expect "the total" 0 '^3 passed, 0 failed$' "$P/scripts/check-total" "$P/build/check" s
  expect "a suite that never ran is a failure" 1 '^3 passed, 1 failed$' "$P/scripts/check-total" "$P/build/check" s t
  suite 0 'quick took 2 s\nok    live-case  30.5 s  fine\nslow took 70 s\n3 passed, 0 failed\n' > /dev/null
  is "what took longest" "$("$P/scripts/slowest" "$P/build/check" s | tr -s ' ' | tr '\n' ,)" \
    ' 70.0 s: slow, 30.5 s: live-case, 2.0 s: quick,'
  expect "the total lists it" 0 '70\.0  s: slow' "$P/scripts/check-total" "$P/build/check" s
  suite 1 'ok    a  1.0 s  fine\nFAIL  b  2.0 s  off\nok    c  1.0 s  UNSTEADY: passed\n0 passed, 2 failed\n' > /dev/null
  printf '%s\n' '#7 test_io.rb:3:in x: fails' '  1) Failure:' 'TestIO#test_one [test_io.rb:9]:' 'no' > "$P/build/check/s-tests.log"
  is "what failed" "$("$P/scripts/failures" "$P/build/check" s | tr -s ' ' | tr '\n' ,)" \
    's: FAIL b 2.0 s off,s: ok c 1.0 s UNSTEADY: passed,s: #7 test_io.rb:3:in x: fails,s: TestIO#test_one [test_io.rb:9]:,'
  expect "the total lists that too" 1 '^s: FAIL  b ' "$P/scripts/check-total" "$P/build/check" s
  rm "$P/build/check/s-tests.log"
  # What has passed is looked up by a hash.
  hash() { printf '%s\n' "--prefix=$1" "CC=$2" > "$work/b/ruby.configured"; BUILD=$work/b SERIES_DIR=$work/s "$P/scripts/check-ruby" --inputs; }
  local was
  mkdir -p "$work/b"
  cp -r "$TOP/patches/ruby-3.4" "$work/s"
  was=$(hash /usr gcc)
  is "installed elsewhere, the tests of ruby have the same inputs" "$(hash /opt gcc)" "$was"
  is "another compiler is another input" "$([ "$(hash /usr clang)" != "$was" ] && echo yes)" yes
  for file in TREE "$(cd "$work/s" && printf '%s\n' 0001-*.patch)"; do
    echo >> "$work/s/$file"
    is "another series is another input: $file" "$([ "$(hash /usr gcc)" != "$was" ] && echo yes)" yes
    was=$(hash /usr gcc)
  done
  # ruby ends when unit has ended, which is beside it, and whose text comes later. live begins after both.
  cat > "$work/suites" <<'MAKE'
#!/bin/sh
case $1 in
  check-unit) touch "$T/unit"; until [ -e "$T/ruby" ]; do sleep 0.01; done; sleep 0.1; rm "$T/unit" ;;
  check-ruby) until [ -e "$T/unit" ]; do sleep 0.01; done; touch "$T/ruby" ;;
  check-live) [ ! -e "$T/unit" ] || echo 'unit goes on' ;;
esac
echo "$1"
exit 1
MAKE
  is "suites beside each other" "$(T=$work BUILD=$P/build timeout 60 "$P/scripts/check-suites" "sh $work/suites" \
    unit series ruby live | tr '\n' ,)" '-- beside it, and shown after it: unit series,check-ruby,check-unit,check-series,check-live,'
  is "suites without that of ruby" "$(T=$work BUILD=$P/build timeout 60 "$P/scripts/check-suites" "sh $work/suites" \
    series live | tr '\n' ,)" 'check-series,check-live,'
}
