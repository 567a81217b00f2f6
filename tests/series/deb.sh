# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# make deb and make dist. Sourced by run. The packages are those of extprof as it is built: the ruby takes minutes,
# and scripts/check-deb tries both in a clean Debian.

# packed PACKAGE...: the files of packages, without those of their documentation.
packed() { for p; do dpkg-deb -c "$deb/$p"; done | awk '$1 !~ /^d/ { print $6 }' | grep -v '^./usr/share/doc/' | LC_ALL=C sort; }

test_packages() {
  local b=$work/packages deb name names p version
  if ! command -v dh >/dev/null || [ ! -x "$build/extprof/extprof" ]; then
    echo "skipped: there is no debhelper, or no extprof in $build"
    return
  fi
  mkdir -p "$b"
  ln -s "$build/extprof" "$b/extprof"
  deb=$b/deb
  expect "packages of extprof" 0 ' extprof_.*\.deb' "$TOP/scripts/deb" "$b" make /usr/local extprof
  names=$(cd "$deb" && ls -- *.deb | grep -v dbgsym)
  is "names" "$(sed 's/_.*//' <<< "$names" | paste -sd ' ')" "extprof libextprof-dev libextprof$(
    readelf -d "$build/extprof/libextprof.so" | sed -n 's/.*SONAME.*\[libextprof\.so\.\(.*\)\]/\1/p')"
  is "files in two packages" "$(packed $names | uniq -d)" ''
  # By name: packages have another folder for some.
  make -s -C "$TOP/tools/extprof" install-built BUILD="$build/extprof" PREFIX=/usr DESTDIR="$work/installed" > /dev/null
  is "all that make install has, and two configurations" "$(packed $names | sed -e 's,.*/,,' -e 's/\.gz$//' | LC_ALL=C sort)" \
    "$({ (cd "$work/installed" && find . -type f -o -type l); echo extprof.conf; echo extprof-push.conf; } | sed 's,.*/,,' | LC_ALL=C sort)"
  version=$("$build/extprof/extprof" --version | awk 'NR == 1 { print $2 }')
  for p in $names; do
    is "version of ${p%%_*}" "$(dpkg-deb -f "$deb/$p" Version)" "$version-1"
    for name in $(dpkg-deb -f "$deb/$p" Depends | sed -e 's/([^)]*)//g' -e 's/,/ /g'); do
      case " $(sed 's/_.*//' <<< "$names" | paste -sd ' ') " in
        *" $name "*) ;;
        *) dpkg-query -W -f '${Status}\n' "$name" 2>/dev/null | grep -q ' installed$' ||
          fail "${p%%_*} depends on $name" "it was built without that" ;;
      esac
    done
  done
  expect "the library is told to ldconfig" 0 'activate-noawait ldconfig' dpkg-deb -I "$deb/$(grep '^libextprof[0-9]' <<< "$names")" triggers
  is "configuration" "$(dpkg-deb -I "$deb"/extprof_*.deb conffiles | LC_ALL=C sort | paste -sd ' ')" "/etc/extprof-push.conf /etc/extprof.conf"
  dpkg-deb -x "$deb"/extprof_*.deb "$work/unpacked"
  expect "it runs as it is packed" 0 "^extprof $version" "$work/unpacked/usr/bin/extprof" --version
  expect "debug information is apart" 1 '' sh -c "readelf -SW '$work/unpacked/usr/bin/extprof' | grep ' \.debug_info '"
  # The BPF programs are constants of the program.
  for p in "$build/extprof/extprof" "$work/unpacked/usr/bin/extprof"; do
    objcopy -O binary --only-section=.rodata "$p" "$work/rodata"
    [ "$(stat -c %s "$work/rodata")" -gt 100000 ] || fail "constants of $p" "there are few"
    sha256sum < "$work/rodata"
  done > "$work/sums"
  is "BPF programs are as they were" "$(sort -u "$work/sums" | wc -l)" 1
  if command -v lintian >/dev/null; then
    is "errors of lintian" "$(lintian --allow-root "$deb"/*.deb 2>&1 | grep '^E:')" ''
  fi
}

test_dist() {
  local name=extprof-9.9
  new_project
  dist() { "$P/scripts/dist" "$P/build" "tarball $P/base.tar.xz"; }
  mkdir -p "$P/tools/extprof"
  echo 'VERSION ?= 9.9' > "$P/tools/extprof/Makefile"
  expect "without git" 1 'no checkout' dist
  printf 'dev\nupstream\nbase.tar.xz\nbuild\n' > "$P/.gitignore"
  (cd "$P" && git init -q && git add -A && git commit -q -m one)
  touch "$P/untracked"
  expect "a tarball" 0 "$name.tar.xz: " dist
  is "what is in it" "$(tar -tf "$P/build/$name.tar.xz" | grep -e configure.sh -e base.tar -e untracked | LC_ALL=C sort | paste -sd ' ')" \
    "$name/configure.sh $name/ruby/base.tar.xz"
  sha256sum "$P/build/$name.tar.xz" > "$work/dist.sum"
  touch "$P/base.tar.xz"
  expect "once more" 0 '' dist
  expect "is the same file" 0 OK sha256sum -c "$work/dist.sum"
  echo '# more' >> "$P/Makefile"
  expect "a change that is not committed is told" 0 'left out' dist
  tar -xf "$P/build/$name.tar.xz" -C "$work"
  expect "the tree in it finds CRuby's source by itself" 0 "CRuby 9.9.9 +$work/$name/ruby/base.tar.xz" env PATH="$work/bin:$PATH" \
    "$work/$name/configure.sh" --without-extprof --no-install-deps --build-dir="$work/dist-build"
  echo >> "$P/base.tar.xz"
  expect "another tarball of CRuby" 1 'wrong checksum' dist
  expect "CRuby's source from git" 1 "release tarball" "$P/scripts/dist" "$P/build" "git $P/upstream"
}
