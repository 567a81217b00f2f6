# SPDX-License-Identifier: BSD-2-Clause
# bash completion for extprof(1).  tests/unit/options.py compares it with the options.

# The last part of a list with commas.
_extprof_list()
{
	local done=
	[[ $cur != *,* ]] || done=${cur%,*},
	COMPREPLY=($(compgen -P "$done" -W "$1" -- "${cur##*,}"))
}

_extprof()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} i command= words
	COMPREPLY=()
	if ((COMP_CWORD > 1)) && [[ ${COMP_WORDS[1]} == dump ]]; then
		_extprof_dump
		return
	fi
	if ((COMP_CWORD > 1)) && [[ ${COMP_WORDS[1]} == top ]]; then
		_extprof_top
		return
	fi
	if ((COMP_CWORD > 1)) && [[ ${COMP_WORDS[1]} == stat ]]; then
		_extprof_stat
		return
	fi

	# Where the program begins: after --, or after record at the first word
	# that is neither an option nor its argument.
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		record | help) ((i == 1)) || break; command=${COMP_WORDS[i]} ;;
		--) ((i++)); command=record; break ;;
		-[prFdofmec] | --pid | --rate | --duration | --output | --file | --format | --top | --timer | \
		--user | --name | --cgroup | --group-by | --mode | --unit | --alloc-interval | --syscall | --waits | --state | --event | --count | --reader | --timer)
			((i++))
			# --pid=1 is three words here
			[[ ${COMP_WORDS[i]} != = ]] || ((i++)) ;;
		-*) ;;
		*) break ;;
		esac
	done
	if [[ $command == help ]]; then
		COMPREPLY=($(compgen -W 'record top dump stat doctor help' -- "$cur"))
		return
	fi
	if ((i < COMP_CWORD)) || [[ $prev == -- ]]; then
		[[ $command == record ]] || return
		if declare -F _command_offset >/dev/null; then
			_command_offset "$i"
		else
			COMPREPLY=($(compgen -c -- "$cur"))
		fi
		return
	fi
	[[ $prev != = ]] || prev=${COMP_WORDS[COMP_CWORD - 2]}
	[[ $cur != = ]] || cur=
	case $prev in
	-p | --pid)
		_extprof_list "$(pgrep ruby 2>/dev/null)" ;;
	-f | --format)
		COMPREPLY=($(compgen -W '@FORMATS@' -- "$cur")) ;;
	-r | -F | --rate)
		COMPREPLY=($(compgen -W '49 99 999 10k' -- "$cur")) ;;
	-m | --mode)
		_extprof_list '@MODES@' ;;
	--unit)
		COMPREPLY=($(compgen -W 'count samples ns us ms s bytes KiB MiB' -- "$cur")) ;;
	-e | --event)
		COMPREPLY=($(compgen -W 'page-faults context-switches cycles instructions cache-misses' -- "$cur")) ;;
	--waits)
		COMPREPLY=($(compgen -W 'each rate' -- "$cur")) ;;
	--state)
		_extprof_list 'running runnable gvl io sleep mutex queue condvar join process ractor native fault stopped parked' ;;
	--syscall)
		_extprof_list 'all openat read write' ;;
	--reader)
		COMPREPLY=($(compgen -W 'auto ebpf nonblocking stop' -- "$cur")) ;;
	--timer)
		COMPREPLY=($(compgen -W 'clock tick' -- "$cur")) ;;
	--group-by)
		_extprof_list 'process thread thread-pattern cgroup label:KEY none' ;;
	--alloc-interval)
		COMPREPLY=($(compgen -W '64k 512k 1M' -- "$cur")) ;;
	-d | --duration)
		COMPREPLY=($(compgen -W '5s 10s 30s 1m' -- "$cur")) ;;
	-o | --output | --file)
		compopt -o filenames 2>/dev/null
		COMPREPLY=($(compgen -f -- "$cur")) ;;
	--user)
		COMPREPLY=($(compgen -u -- "$cur")) ;;
	--cgroup)
		compopt -o nospace 2>/dev/null
		COMPREPLY=($(compgen -d -- "/sys/fs/cgroup/${cur#/sys/fs/cgroup/}")) ;;
	--top | --name | -c | --count) ;;
	*)
		words='-p -a -s -m -e -c -r -F -d -o -f -t -l -q -V --pid --all --subprocesses --no-subprocesses
			--user --name --cgroup --keep-root --mode --syscall --latency --waits --state --fd --holder --waker --event --count --rate --reader --nonblocking --timer --duration --output --file
			--format --group-by --unit --alloc-interval --threads --lines --top --quiet --help --usage --version --'
		((COMP_CWORD > 1)) || words="record top dump stat doctor help $words"
		COMPREPLY=($(compgen -W "$words" -- "$cur"))
		[[ $command != record || $cur == -* || -z $cur ]] || COMPREPLY+=($(compgen -c -- "$cur")) ;;
	esac
}

# Of extprof dump.
_extprof_dump()
{
	[[ $prev != = ]] || prev=${COMP_WORDS[COMP_CWORD - 2]}
	[[ $cur != = ]] || cur=
	case $prev in
	-p | --pid)
		_extprof_list "$(pgrep ruby 2>/dev/null)" ;;
	--core | --exe)
		compopt -o filenames 2>/dev/null
		COMPREPLY=($(compgen -f -- "$cur")) ;;
	--reader)
		COMPREPLY=($(compgen -W 'nonblocking stop' -- "$cur")) ;;
	--every)
		COMPREPLY=($(compgen -W '500ms 1s 10s' -- "$cur")) ;;
	--count) ;;
	*)
		words='-p -V --pid --core --exe --reader --every --count --json --source --help --usage --version'
		COMPREPLY=($(compgen -W "$words" -- "$cur")) ;;
	esac
}

# Of extprof stat.
_extprof_stat()
{
	# Where the program begins, as with record.
	for ((i = 2; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--) ((i++)); command=stat; break ;;
		-[pdIrFo] | --pid | --duration | --interval | --rate | --reader | --top | --output | --user | --name | --cgroup)
			((i++))
			[[ ${COMP_WORDS[i]} != = ]] || ((i++)) ;;
		-*) ;;
		*) break ;;
		esac
	done
	if ((i < COMP_CWORD)) || [[ $prev == -- ]]; then
		if declare -F _command_offset >/dev/null; then
			_command_offset "$i"
		else
			COMPREPLY=($(compgen -c -- "$cur"))
		fi
		return
	fi
	[[ $prev != = ]] || prev=${COMP_WORDS[COMP_CWORD - 2]}
	[[ $cur != = ]] || cur=
	case $prev in
	-p | --pid)
		_extprof_list "$(pgrep ruby 2>/dev/null)" ;;
	-d | --duration)
		COMPREPLY=($(compgen -W '5s 10s 30s 1m' -- "$cur")) ;;
	-I | --interval)
		COMPREPLY=($(compgen -W '1s 10s 1m' -- "$cur")) ;;
	-r | -F | --rate)
		COMPREPLY=($(compgen -W '49 99 999 10k' -- "$cur")) ;;
	--reader)
		COMPREPLY=($(compgen -W 'auto ebpf nonblocking stop' -- "$cur")) ;;
	-o | --output)
		compopt -o filenames 2>/dev/null
		COMPREPLY=($(compgen -f -- "$cur")) ;;
	--user)
		COMPREPLY=($(compgen -u -- "$cur")) ;;
	--cgroup)
		compopt -o nospace 2>/dev/null
		COMPREPLY=($(compgen -d -- "/sys/fs/cgroup/${cur#/sys/fs/cgroup/}")) ;;
	--top | --name) ;;
	*)
		words='-p -a -s -d -r -F -I -o -V --pid --all --subprocesses --no-subprocesses --user --name --cgroup --keep-root
			--duration --reader --nonblocking --syscalls --rate --interval --json --top --output --help --usage --version --'
		COMPREPLY=($(compgen -W "$words" -- "$cur"))
		[[ $cur == -* ]] || COMPREPLY+=($(compgen -c -- "$cur")) ;;
	esac
}

# Of extprof top.
_extprof_top()
{
	local j
	for ((j = 2; j < COMP_CWORD; j++)); do
		[[ ${COMP_WORDS[j]} == -- ]] || continue
		if declare -F _command_offset >/dev/null; then
			_command_offset $((j + 1))
		else
			COMPREPLY=($(compgen -c -- "$cur"))
		fi
		return
	done
	[[ $prev != = ]] || prev=${COMP_WORDS[COMP_CWORD - 2]}
	[[ $cur != = ]] || cur=
	case $prev in
	-p | --pid)
		_extprof_list "$(pgrep ruby 2>/dev/null)" ;;
	-r | -F | --rate)
		COMPREPLY=($(compgen -W '49 99 999 10k' -- "$cur")) ;;
	-m | --mode)
		_extprof_list '@MODES@' ;;
	-e | --event)
		COMPREPLY=($(compgen -W 'page-faults context-switches cycles instructions cache-misses' -- "$cur")) ;;
	--waits)
		COMPREPLY=($(compgen -W 'each rate' -- "$cur")) ;;
	--state)
		_extprof_list 'running runnable gvl io sleep mutex queue condvar join process ractor native fault stopped parked' ;;
	--syscall)
		_extprof_list 'all openat read write' ;;
	--reader)
		COMPREPLY=($(compgen -W 'auto ebpf nonblocking stop' -- "$cur")) ;;
	--timer)
		COMPREPLY=($(compgen -W 'clock tick' -- "$cur")) ;;
	--alloc-interval)
		COMPREPLY=($(compgen -W '64k 512k 1M' -- "$cur")) ;;
	-d | --duration | -i | --interval)
		COMPREPLY=($(compgen -W '500ms 1s 10s 1m' -- "$cur")) ;;
	--view)
		COMPREPLY=($(compgen -W 'method line state thread process' -- "$cur")) ;;
	--sort)
		COMPREPLY=($(compgen -W 'self total name' -- "$cur")) ;;
	--user)
		COMPREPLY=($(compgen -u -- "$cur")) ;;
	--cgroup)
		compopt -o nospace 2>/dev/null
		COMPREPLY=($(compgen -d -- "/sys/fs/cgroup/${cur#/sys/fs/cgroup/}")) ;;
	--rows | --filter | --name | -n | --iterations | -c | --count) ;;
	*)
		words='-p -a -s -m -e -c -r -F -d -i -t -b -n -V --pid --all --subprocesses --no-subprocesses --user --name --cgroup --keep-root
			--mode --rate --reader --nonblocking --timer --alloc-interval --syscall --latency --event --count --waits --state --duration --interval --view
			--sort --filter --threads --cumulative --batch --iterations --rows --help --usage --version'
		COMPREPLY=($(compgen -W "$words" -- "$cur")) ;;
	esac
}
complete -F _extprof extprof
