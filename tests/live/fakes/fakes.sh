#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# fakes.sh EXTPROF FAKES DIRECTORY SECTION: sample fake targets with the real BPF program and
# compare the profiles with what the targets are known to do.  FAKES has what the Makefile here
# builds; DIRECTORY is for files of the run; SECTION is one of the functions section_* below.
# Ends with "N passed, N failed, N skipped".  What fails once fails: nothing is tried again.
set -u
extprof=$1
dir=$2
work=$3
passed=0 failed=0 skipped=0
out=$work/out.folded sum=$work/sum err=$work/err

ok() { passed=$((passed + 1)); echo "ok   $1"; }
fail() { failed=$((failed + 1)); echo "FAIL $1: $2"; sed 's/^/     /' "$sum" "$err"; }
# skip NAME REASON
skip() { skipped=$((skipped + 1)); echo "SKIP $1: $2"; }

# expect NAME COMMAND...: the command says no reason and returns 0.
expect() {
	what=$1; shift
	if why=$("$@" 2>&1); then ok "$what"; else fail "$what" "${why:-$*}"; fi
}

# record MODE SECONDS OPTIONS...: run a target from its start to its end.
record() {
	mode=$1 seconds=$2; shift 2
	rm -f "$out"
	"$extprof" record -o "$out" "$@" -- "$dir/fake_target" "$mode" "$seconds" >"$sum" 2>"$err"
	status=$?
}

# The numbers of the line "samples taken N = whole A + truncated B + lost C".
number() {
	awk -v key="$1" '/^samples taken/ { for (i = 1; i < NF; i++) if ($i == key) print $(i + 1) }' "$sum"
}
reason() {
	sed -n "/^samples taken/s/.*[( ]$1: \([0-9]*\).*/\1/p" "$sum"
}

# Taken is the sum of its parts, and of what is in the file.
adds_up() {
	awk '/^samples taken/ { n = 1; split("", v); k = 0
		for (i = 1; i <= NF; i++) if ($i == "taken" || $i == "whole" || $i == "truncated" || $i == "lost") v[$i] = $(i + 1)
		if (v["taken"] != v["whole"] + v["truncated"] + v["lost"]) { print "sums: " $0; exit 1 }
		print v["whole"] + v["truncated"] }
		END { if (!n) { print "no account"; exit 1 } }' "$sum" >"$work/n" || { cat "$work/n"; return 1; }
	awk -v want="$(cat "$work/n")" '{ n += $NF } END { if (n != want) { print "file has " n ", not " want; exit 1 } }' "$out"
}

# all_lines REGEX: every stack in the file matches.
all_lines() {
	grep -Evq "$1" "$out" && { echo "unexpected: $(grep -Ev "$1" "$out" | head -3)"; return 1; }
	return 0
}
# none_of REGEX: no stack in the file matches.
none_of() {
	grep -E "$1" "$out" | head -3 | grep . && return 1
	return 0
}
at_least() {
	[ "${2:-0}" -ge "$1" ] || { echo "${2:-0} is less than $1"; return 1; }
}
is() {
	[ "$1" = "$2" ] || { echo "\"$1\" is not \"$2\""; return 1; }
}
says() {
	grep -Eq "$1" "$sum" "$err" || { echo "does not say: $1"; return 1; }
}
share() {
	# share REGEX LOW HIGH: of the samples in the file
	awk -v low="$2" -v high="$3" -v re="$1" '{ n = $NF; all += n; if ($0 ~ re) part += n }
		END { s = all ? part / all : 0; if (s < low || s > high) { print "share " s " of " all; exit 1 } }' "$out"
}

# wait_until COMMAND...
wait_until() {
	for _ in $(seq 3000); do
		"$@" 2>/dev/null && return
		sleep 0.01
	done
	echo "not after 30 s: $*" >&2
}
# runs PID FILE: it has executed the file, or loaded it.  The file is in the maps before all of it is
# mapped, so wait for the C library, which is loaded after it.
runs() { grep -q " $2\$" "/proc/$1/maps" && grep -q '/libc[.-]' "/proc/$1/maps"; }
sleeps() { runs "$1" "$2" && grep -q '^State:.S' "/proc/$1/status"; }

# attached EXTPROF: its timers run.
attached() { ls -l "/proc/$1/fd" | grep -q perf_event; }

# A shell without job control starts what is in the background with SIGINT ignored, and extprof leaves
# it so.
interruptible='env --default-signal=INT'

# -- stacks ---------------------------------------------------------------------
section_stacks() {
record branches 5 -r 10k
n=$(number taken)
expect "branches: adds up" adds_up
expect "branches: enough samples ($n)" at_least 10000 "$n"
expect "branches: no impossible stack" all_lines '^(<main>(;A#hot_a(;A#leaf_a)?|;B\.hot_b(;B\.leaf_b)?)?|\[no ruby code\]|\[native thread fake_target\]|\[thread ending\]|\[ruby starting\]) [0-9]+$'
expect "branches: exit status of the command" is "$status" 3

record shares 5 -r 5k
truth=$(sed -n 's/^share of A: //p' "$sum")
n=$(number taken)
missed=$(sed -n 's/^missed besides: \([0-9]*\).*/\1/p' "$sum")
# Five standard deviations, 0.01 for what interrupts the target, and the ticks without a sample.
expect "shares: adds up" adds_up
expect "shares: A has $truth of $n" awk -v truth="$truth" -v n="$n" -v missed="${missed:-0}" '
	/A#hot_a/ { a += $NF } /B\.hot_b/ { b += $NF }
	END { d = a / (a + b) - truth; e = 5 * sqrt(truth * (1 - truth) / n) + 0.01 + missed / n
		if (d > e || d < -e) { print a / (a + b) " is not within " e; exit 1 } }' "$out"

record shares 2 -r 1k -l
expect "lines: of leaves and callers" share '^<main> /app/fake.rb:[0-9]*;A#hot_a /app/fake.rb:103;A#leaf_a /app/fake.rb:205 |^<main>;A#hot_a /app/fake.rb:103;A#leaf_a /app/fake.rb:205 ' 0.5 1

record deep 2 -r 200
expect "deep: adds up" adds_up
expect "deep: truncated, with reason" at_least 100 "$(reason too-deep)"
expect "deep: visible at the root" share '^\[truncated: 3617 frames more\];A#deep;.*;A#leaf_a ' 0.9 1

record native 2 -r 500
expect "native: thread by its name" share '^\[native thread fake timer\] ' 0.9 1
record gc 2 -r 500
expect "gc: phase under the caller" share ';A#allocates;\[GC sweep\] ' 0.9 1
record gc 2 -r 500 -t
expect "threads: at the root" share '^\[thread fake thread \([0-9]+\)\];<main>' 0.99 1
record native 2 -r 500 -t
expect "threads: a native one" share '^\[native thread fake timer \([0-9]+\)\];\[native' 0.9 1
record nameless 2 -r 500 -t
expect "threads: unknown, marked" share '^\[unknown thread fake_target \([0-9]+\)\];<main>' 0.99 1
expect "threads: unknown, counted" says '^samples of unknown threads: [1-9]'
record renamed 3 -r 500
expect "renamed: one name, the new one" share '^<main>;LateName#run ' 0.95 1
record expired 2 -r 500
expect "expired: shown" share '^<main>;\[retired\] ' 0.9 1
expect "expired: counted" says '^names expired: [1-9]'
record forks 2 -r 500
expect "forks: the child is not mixed in" none_of in_child
expect "forks: the parent is seen" share ';A#leaf_a ' 0.9 1
}

# -- losses, each with its reason --------------------------------------------------
section_losses() {
loses() {
	record "$1" 3 -r 500
	# When all samples are lost there is no profile, and that is an error.
	want=3; [ "$(number whole)" != 0 ] || want=70
	[ $want = 3 ] || expect "$1: no file" [ ! -e "$out" ]
	: >>"$out"
	expect "$1: adds up" adds_up
	expect "$1: lost as $2 ($(reason "$2"))" at_least 50 "$(reason "$2")"
	expect "$1: clean end" is "$status" $want
}
loses bad-geometry bad-geometry
loses bad-ec ec-unreadable
loses bad-frames frames-unreadable
loses bad-tls tls-unreadable
loses forked-tables fork-in-progress
loses section-gone section-unreadable
"$dir/fake_target" bad-ec 30 & target=$!
wait_until runs $target "$dir/fake_target"
for quiet in "" -q; do
	echo before >"$out"
	"$extprof" -p $target -r 500 -d 0.5 $quiet -o "$out" >"$sum" 2>"$err"
	expect "all lost $quiet: exit 70" is $? 70
	expect "all lost $quiet: says why" grep -q 'all [0-9]* samples .* were lost, .* the execution context could not be read (ec-unreadable)' "$err"
	expect "all lost $quiet: output untouched" is "$(cat "$out")" before
done
expect "all lost -q: no summary" is "$(cat "$sum")" ""
kill $target; wait $target 2>/dev/null
record half-frames 2 -r 500
expect "half-frames: adds up" adds_up
expect "half-frames: truncated ($(reason frames-unreadable))" at_least 50 "$(reason frames-unreadable)"
expect "half-frames: visible" share '^\[truncated: [0-9]+ frames more\];A#hot_a;.*;A#leaf_a ' 0.9 1
record ended 3 -r 500
expect "ended: is no loss" share '^\[ruby ending\] |;A#leaf_a |^\[' 1 1
expect "ended: adds up" adds_up
record executes 2 -r 500
expect "executes: adds up" adds_up
expect "executes: both programs" share '^<main>(;A#hot_a)*;A#deep |;[AB][#.](leaf|hot)_[ab] |^\[|^<main> ' 1 1
expect "executes: the second one too" share ';[AB][#.]leaf_[ab] ' 0.2 0.9

rm -f "$out"
# extprof is stopped, so the ring becomes full.
"$dir/fake_target" deep 6 & target=$!
wait_until runs $target "$dir/fake_target"
"$extprof" -p $target -r 10k -d 4 -o "$out" >"$sum" 2>"$err" & prof=$!
sleep 1.5; kill -STOP $prof; sleep 1.5; kill -CONT $prof
wait $prof
expect "share of the ring: adds up" adds_up
expect "share of the ring: named ($(reason ring-share))" at_least 1 "$(reason ring-share)"
kill $target 2>/dev/null; wait $target 2>/dev/null
}

# -- a target that gives more work than can be done ---------------------------------------
section_flood() {
# ends BY LEAST MOST REST: extprof has ended by itself, LEAST to MOST seconds after $from, and has
# left at least REST samples unread
ends() {
	by=$1 least=$2 most=$3 rest=$4
	wait $prof; status=$?
	took=$(($(date +%s) - from))
	expect "flood: $by ends it" is $status 0
	expect "flood: $by, after $took s" awk -v t=$took -v l="$least" -v m="$most" 'BEGIN { exit t < l || t > m }'
	expect "flood: $by, adds up" adds_up
	left=$(reason not-read)
	expect "flood: $by, the rest is counted (${left:-0})" at_least "$rest" "${left:-0}"
}
# At this rate the ring holds much more than can be looked at in time.
"$dir/fake_target" flood 60 & target=$!
wait_until runs $target "$dir/fake_target"
rm -f "$out"; from=$(date +%s)
timeout -s KILL 30 "$extprof" -p $target -r 10k -d 1 -o "$out" >"$sum" 2>"$err" & prof=$!
# 1 s, what extprof allows itself at the end (5 s for samples, 2 for what is being read, 5 for names),
# and a second at each end, as whole seconds are counted.  Names are put off, so all samples may be read.
ends "the duration" 1 15 0
# interrupted_twice BY [COMMAND...]: the recording, run by COMMAND
interrupted_twice() {
	by=$1; shift
	rm -f "$out"
	$interruptible "$@" "$extprof" -p $target -r 10k -o "$out" >"$sum" 2>"$err" & prof=$!
	# If it ends later than this, the signals did not end it.
	(sleep 22; kill -KILL $prof 2>/dev/null) & killer=$!
	sleep 1.5; kill -INT $prof
	# Two pending signals would become one, so wait until the first is taken.
	while grep -q '^ShdPnd:.*2$' /proc/$prof/status; do sleep 0.1; done
	sleep 0.5; from=$(date +%s); kill -INT $prof
	ends "$by" 0 2 1
	kill $killer 2>/dev/null; wait $killer 2>/dev/null
}
interrupted_twice "the second Ctrl-C"
# On one CPU with the target, for which it has to wait.
cpu=$(sed -n 's/^Cpus_allowed_list:.*[^0-9]\([0-9]*\)$/\1/p' /proc/self/status)
taskset -p -c "$cpu" $target >/dev/null
interrupted_twice "the second Ctrl-C, one CPU" taskset -c "$cpu"
kill $target 2>/dev/null; wait $target 2>/dev/null
}

# -- a hostile target ----------------------------------------------------------------
section_hostile() {
record hostile "${HOSTILE_SECONDS:-10}" -r 10k -t
expect "hostile: survived" is "$status" 3
expect "hostile: adds up" adds_up
expect "hostile: nothing unprintable" sh -c '! LC_ALL=C grep -q "[^[:print:]]" "$1"' sh "$out"
}

# -- ways to the section -----------------------------------------------------------
section_images() {
for variant in note_only symbol_only symbol_stripped shared deleted; do
	image=$dir/fake_$variant
	case $variant in
	deleted) cp "$dir/fake_target" "$image" ;;
	shared) image=$dir/libruby-fake.so ;;
	esac
	rm -f "$out"
	"$dir/fake_$variant" shares 3 & target=$!
	wait_until runs $target "$image"
	[ $variant = deleted ] && rm "$image"
	"$extprof" -p $target -r 500 -d 1 -o "$out" >"$sum" 2>"$err"
	status=$?
	expect "$variant: attaches" is $status 0
	expect "$variant: stacks" share '^<main>;[AB][#.]' 0.9 1
	kill $target; wait $target 2>/dev/null
done
}

# -- pid namespaces ----------------------------------------------------------------
section_namespaces() {
# In another pid namespace the target has another pid.  Once with plain loads of the
# kernel's memory, once with calls as on old kernels.
for program in "$extprof" "$dir/calls/extprof"; do
	how=loads; [ "$program" = "$extprof" ] || how=calls
	rm -f "$out"
	"$program" -r 500 -o "$out" -- "$dir/fake_target" gc 2 >"$sum" 2>"$err"
	expect "$how: our own pid namespace" share ';A#allocates;\[GC sweep\] ' 0.9 1
	rm -f "$out"
	"$program" -r 99 --timer=tick -o "$out" -- "$dir/fake_target" gc 2 >"$sum" 2>"$err"
	expect "$how: by the tick" share ';A#allocates;\[GC sweep\] ' 0.9 1
	expect "$how: by the tick, adds up" adds_up
	if ! unshare -pf true 2>/dev/null; then
		skip "$how: pid namespace" "unshare -p is not permitted here"
		continue
	fi
	rm -f "$out"
	unshare -pf "$dir/fake_target" gc 3 & wrapper=$!
	wait_until pgrep -P $wrapper >/dev/null
	target=$(pgrep -P $wrapper)
	wait_until runs "$target" "$dir/fake_target"
	"$program" -p "$target" -r 500 -d 1 -o "$out" >"$sum" 2>"$err"
	expect "$how: pid namespace seen from outside" share ';A#allocates;\[GC sweep\] ' 0.9 1
	kill "$target"; wait $wrapper 2>/dev/null
	# Both are in the namespace, which has its own /proc.
	rm -f "$out"
	unshare -pmf --mount-proc sh -c '
		"$1/fake_target" gc 3 & n=0
		until grep -q " $1/fake_target\$" /proc/$!/maps && grep -q "/libc[.-]" /proc/$!/maps ||
			[ $((n += 1)) -gt 3000 ]; do sleep 0.01; done
		"$0" -p $! -r 500 -d 1 -o "$2" >"$3" 2>"$4"' "$program" "$dir" "$out" "$sum" "$err"
	expect "$how: pid namespace seen from inside" share ';A#allocates;\[GC sweep\] ' 0.9 1
done
}

# -- ends ------------------------------------------------------------------------------
section_ends() {
"$dir/fake_target" branches 20 & target=$!
wait_until runs $target "$dir/fake_target"
"$extprof" -p $target -d 2 -o "$out" >"$sum" 2>"$err" & prof=$!
wait_until attached $prof; sleep 0.5; kill -INT $prof; wait $prof
expect "Ctrl-C that was ignored: stays so" says ' for (1\.9|2\.[0-9]) s '
$interruptible "$extprof" -p $target -o "$out" >"$sum" 2>"$err" & prof=$!
wait_until attached $prof; sleep 0.5; kill -INT $prof; wait $prof
expect "Ctrl-C: exit 0" is $? 0
expect "Ctrl-C: says so" says 'Ctrl-C'
expect "Ctrl-C: adds up" adds_up
"$extprof" -p $target -o "$out" >"$sum" 2>"$err" & prof=$!
wait_until attached $prof; sleep 0.5; kill -KILL $target; wait $prof
expect "target killed: exit 0" is $? 0
expect "target killed: says so" says 'the process ended'
expect "target killed: adds up" adds_up
wait $target 2>/dev/null

"$dir/fake_target" idle 1 & target=$!
wait_until sleeps $target "$dir/fake_target"
"$extprof" -p $target -d 1 >"$sum" 2>"$err"
expect "idle: exit 0" is $? 0
expect "idle: says why there is nothing" says 'used no CPU'
kill $target; wait $target 2>/dev/null
}

# -- CPUs that come and go ---------------------------------------------------------------
section_cpus() {
# Only extprof sees CPUs come and go; the CPUs themselves stay.
cpu=$(($(getconf _NPROCESSORS_ONLN) - 1))
if [ $cpu -lt 1 ] || ! unshare -m true 2>/dev/null; then
	skip "CPUs come and go" "one CPU, or unshare -m is not permitted"
else
	taskset -c $cpu "$dir/fake_target" branches 30 & target=$!
	wait_until runs $target "$dir/fake_target"
	rm -f "$out"; : >"$work/offline"; echo 0 >"$work/online"
	OFFLINE_CPU=$cpu OFFLINE_WHILE="$work/offline" $interruptible unshare -m sh -c '
		mount --bind "$0" /sys/devices/system/cpu/online
		export LD_PRELOAD="$1"; shift; exec "$@"' "$work/online" "$dir/liboffline.so" \
		"$extprof" -p $target -r 500 -o "$out" >"$sum" 2>"$err" & prof=$!
	sleep 2.5
	rm "$work/offline"; echo 0-$cpu >"$work/online"	# it comes
	sleep 2
	# A container may show a list without the CPU, which is there nevertheless.
	echo 0 >"$work/online"; sleep 1
	: >"$work/offline"; echo "0 " >"$work/online"	# it goes
	sleep 2.5
	kill -INT $prof; wait $prof
	expect "CPUs come and go: exit 0" is $? 0
	n=$(number taken)
	expect "CPUs come and go: sampled while it is there ($n of 1500)" \
		awk -v n="${n:-0}" 'BEGIN { exit n < 700 || n > 2000 }'
	expect "CPUs come and go: adds up" adds_up
	kill $target; wait $target 2>/dev/null
	rm -f "$work/offline" "$work/online"
fi
}

# -- errors ----------------------------------------------------------------------------
section_errors() {
# refuses NAME STATUS TEXT ARGUMENTS...
refuses() {
	case=$1 want=$2 text=$3; shift 3
	"$extprof" "$@" >"$sum" 2>"$err"
	expect "$case: exit $want" is $? "$want"
	expect "$case: says so" says "$text"
}
sleep 30 & sleeper=$!
wait_until sleeps $sleeper "$(readlink -f "$(command -v sleep)")"
refuses "not a ruby" 65 'is not a ruby' -p $sleeper
refuses "kernel thread" 65 'is not a ruby' -p 2
kill $sleeper
refuses "no such process" 66 'no such process' -p 4194303
refuses "no command" 127 'cannot run' record -- /dev/null/ruby
# A command that is no ruby and ends may give either message: it depends on whether extprof looked at it in time.
refuses "command is no ruby" 65 'is not a ruby: it runs .*sleep' record -- sleep 1
refuses "command ends" 66 'ended before' record -- "$dir/fake_target" starting 1
refuses "no output directory" 73 'cannot write' -p $$ -f folded -o /dev/null/x
refuses "no output name" 73 'without a name' -p $$ -f folded -o ''
refuses "wrong option" 64 'unrecognized|unknown' --nonsense
refuses "nothing to do" 64 'what is to be profiled'
refuses "wrong rate" 64 'no rate' -p $$ -r 0
"$dir/fake_version" idle 1 & target=$!
wait_until sleeps $target "$dir/fake_version"
refuses "other version" 76 'version 2.1 .*not supported' -p $target
kill $target
"$dir/fake_target" draft 20 & target=$!
wait_until runs $target "$dir/fake_target"
refuses "draft of the interface" 76 'draft of the debugging interface.*472 bytes' -p $target -d 1
for command in dump stat; do
	refuses "draft of the interface, $command" 76 'draft of the debugging interface' $command -p $target
done
kill $target
"$dir/fake_stock" & target=$!
wait_until runs $target "$dir/fake_stock"
refuses "stock ruby" 69 'ruby 2.1.0 .*no external debugging interface' -p $target
kill $target
"$dir/fake_target" idle 1 & target=$!
wait_until sleeps $target "$dir/fake_target"
echo before >"$out"
if command -v setpriv >/dev/null; then
	setpriv --reuid=65534 --clear-groups "$extprof" -p $target >"$sum" 2>"$err"
	expect "another user: exit 77" is $? 77
	expect "another user: names the capability" says 'CAP_SYS_PTRACE'
	setpriv --bounding-set=-bpf,-sys_admin --inh-caps=-bpf,-sys_admin "$extprof" -p $target -d 5 --reader ebpf -o "$out" >"$sum" 2>"$err"
	expect "no CAP_BPF: exit 77" is $? 77
	expect "no CAP_BPF: names it" says 'CAP_BPF'
	expect "no CAP_BPF: output untouched" is "$(cat "$out")" before
else
	skip "permissions" "no setpriv"
fi
kill $target; wait 2>/dev/null
}

section_$4
rm -f "$work/n"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
