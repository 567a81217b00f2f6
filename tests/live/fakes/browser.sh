#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# browser.sh EXTPROF FAKES DIRECTORY: the flame graph in a real browser, as it is
# opened from a file.  Search and zoom are driven by the fragment of the URL.
set -u
extprof=$1
fakes=$2
dir=$3
passed=0 failed=0
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || browser=
if [ -z "$browser" ]; then
	echo "SKIP flame graph in a browser: no chromium here"
	echo "0 passed, 0 failed, 1 skipped"
	exit 0
fi
"$extprof" record -q -r 2k -o "$dir/graph.svg" -- "$fakes/fake_target" shares 2 >"$dir/browser.err" 2>&1
"$extprof" record -q -r 2k -o "$dir/graph.html" -- "$fakes/fake_target" shares 2 >"$dir/browser.err" 2>&1

# 203 rows of 17 pixels: more than a window is high.
for kind in svg html; do
	"$extprof" record -q -r 2k -o "$dir/deep.$kind" -- "$fakes/fake_target" gc 1 >"$dir/browser.err" 2>&1
done

dom() {
	timeout 60 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$dir/chromium" \
		--virtual-time-budget=2000 --window-size=1200,900 --dump-dom "$1" 2>"$dir/browser.err"
}

# has NAME URL REGEX...: the page has all of them; ! before one: it has not.
has() {
	what=$1 page=$2; shift 2
	dom "$page" >"$dir/dom"
	for re in "$@"; do
		case $re in
		!*) grep -Eq -- "${re#!}" "$dir/dom" && { miss=$re; break; } ;;
		*) grep -Eq -- "$re" "$dir/dom" || { miss=$re; break; } ;;
		esac
	done
	if [ -z "${miss:-}" ]; then
		passed=$((passed + 1)); echo "ok   $what"
	else
		failed=$((failed + 1)); echo "FAIL $what: $miss"
	fi
	miss=
}

for kind in svg html; do
	url=file://$dir/graph.$kind
	has "$kind: drawn by the script" "$url" 'id="graph"[^>]*data-shown="[0-9]+"' \
		'>A#leaf_a</text>' '>all</text>' '!matched [0-9]'
	has "$kind: search counts what it matches" "$url#search=leaf_a" \
		'matched [67][0-9]\.[0-9]+ % \([0-9]+ samples\)' 'fill="#e43fd8"'
	has "$kind: search for files" "$url#search=file:fake\\.rb" 'matched (9[0-9]|100)\.' 'fill="#e43fd8"'
	has "$kind: a name is no file" "$url#search=fake\\.rb" 'matched 0.00 %'
	has "$kind: search for nothing there" "$url#search=nonsense" 'matched 0.00 % \(0 samples\)' \
		'!fill="#e43fd8"'
	has "$kind: search for what is no expression" "$url#search=%5B(" 'matched 0.00 %'
	has "$kind: search for markup is text" "$url#search=%3Cimg%20src%3Dx%3E" '!<img' 'matched 0.00 %'
	has "$kind: zoom by name" "$url#zoom=B.hot_b" 'class="f parent"' '>B.hot_b</text>' '!>A#leaf_a</text>'
	has "$kind: zoom by number" "$url#zoom=1" 'class="f parent"' '>A#leaf_a</text>'
	has "$kind: zoom to what is not there" "$url#zoom=99999" '!class="f parent"' '>A#leaf_a</text>'
	has "$kind: zoom and search" "$url#zoom=B.hot_b&search=leaf" 'matched 9[0-9]\.|matched 100\.'
	has "$kind: flipped" "$url#flip=1" '<g class="f" data-n="0"[^>]*><title>[^<]*</title><rect x="10.00" y="(92|116)"'
done

# The root is in the window, whatever the height: the head has been moved down to it, and the details are at its end.
for kind in svg html; do
	url=file://$dir/deep.$kind
	has "$kind: opens at the root" "$url" 'id="head" transform="translate\(0,[12][0-9]{3}\)"' \
		'id="foot" transform="translate\(0,3[0-9]{3}\)"'
	[ $kind = svg ] || continue
	has "$kind: flipped, the root is on top" "$url#flip=1" 'id="head" transform="translate\(0,0\)"' \
		'id="foot" transform="translate\(0,[0-9]{3}\)"'
	has "$kind: a zoom shows its frame" "$url#zoom=150" 'id="head" transform="translate\(0,[0-9]{1,3}\)"' 'class="f parent"'
	has "$kind: flipped, a zoom shows its frame" "$url#zoom=150&flip=1" 'id="head" transform="translate\(0,2[0-9]{3}\)"'
	has "$kind: what was found ends within the picture" "$url#search=hot" 'id="matched" text-anchor="end" x="11[5-9][0-9]"[^>]*>matched (9[0-9]|100)\.'
done

rm -rf "$dir/chromium" "$dir/dom"
echo "$passed passed, $failed failed"
[ $failed = 0 ]
