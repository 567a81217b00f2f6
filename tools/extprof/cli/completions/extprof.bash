# SPDX-License-Identifier: BSD-2-Clause
# bash completion for extprof(1).  The options come from extprof itself: extprof help --list COMMAND.

# The last part of a list with commas.
_extprof_list()
{
	local done=
	[[ $cur != *,* ]] || done=${cur%,*},
	COMPREPLY=($(compgen -P "$done" -W "$1" -- "${cur##*,}"))
}

# What runs ruby, whatever its name: one that a script begins with has that of the script.
_extprof_pids()
{
	command ls -l /proc/[0-9]*/exe 2>/dev/null | sed -n 's,.* /proc/\([0-9]*\)/exe -> .*/ruby[^/]*$,\1,p'
}

# The argument $1 (its name in the help) of an option with the words $2.
_extprof_argument()
{
	case $1 in
	PID) _extprof_list "$(_extprof_pids)" ;;
	DIR) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- "$cur")) ;;
	FILE) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$cur")) ;;
	USER) COMPREPLY=($(compgen -u -- "$cur")) ;;
	PATH) compopt -o nospace 2>/dev/null
		COMPREPLY=($(compgen -d -- "/sys/fs/cgroup/${cur#/sys/fs/cgroup/}")) ;;
	TIME) COMPREPLY=($(compgen -W '500ms 1s 10s 1m' -- "$cur")) ;;
	SIZE) COMPREPLY=($(compgen -W '64k 512k 1M' -- "$cur")) ;;
	EVENT) COMPREPLY=($(compgen -W 'page-faults context-switches cycles instructions cache-misses' -- "$cur")) ;;
	*) _extprof_list "$2" ;;
	esac
}

_extprof()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} first=${COMP_WORDS[1]} command=record
	local extprof=${COMP_WORDS[0]/#\~/$HOME} i=1 letters name argument words rest letter option all= files=
	local -A takes values
	COMPREPLY=()
	local commands=$("$extprof" help --list 2>/dev/null | cut -f1)
	if ((COMP_CWORD > 1)) && [[ $'\n'$commands$'\n' == *$'\n'"$first"$'\n'* ]]; then
		command=$first i=2
	elif ((COMP_CWORD > 1)) && [[ $first == help ]]; then
		COMPREPLY=($(compgen -W "$commands help" -- "$cur"))
		return
	fi
	# A tab alone would join fields that are empty.
	while IFS=$'\x1f' read -r letters name argument words rest; do
		all+=" --$name"
		takes[--$name]=$argument values[--$name]=$words
		for ((letter = 0; letter < ${#letters}; letter++)); do
			option=-${letters:letter:1}
			[[ $option == '-?' ]] || all+=" $option"
			takes[$option]=$argument values[$option]=$words
		done
	done < <("$extprof" help --list "$command" 2>/dev/null | tr '\t' '\037')
	# --help takes its argument behind = alone.
	takes[--help]= takes[-h]=

	# Where the program begins: after --, or at the first word that is neither an option nor its argument.
	[[ $command != @(diff|annotate|report|heatmap|daemon|push|serve|sql|verify|redact|mcp|doctor) ]] || files=1
	for (( ; !files && i < COMP_CWORD; i++)); do
		option=${COMP_WORDS[i]}
		[[ $option != -- ]] || { ((i++)); break; }
		[[ $option == -* ]] || break
		[[ -n ${takes[$option]-} ]] || continue
		((i++))
		# --pid=1 is three words here
		[[ ${COMP_WORDS[i]} != = ]] || ((i++))
	done
	if [[ $command != dump && ! $files ]] && { ((i < COMP_CWORD)) || [[ $prev == -- ]]; }; then
		[[ $command == "$first" || $prev == -- || ${COMP_WORDS[i - 1]} == -- ]] || return
		if declare -F _command_offset >/dev/null; then
			_command_offset "$i"
		else
			COMPREPLY=($(compgen -c -- "$cur"))
		fi
		return
	fi
	[[ $prev != = ]] || prev=${COMP_WORDS[COMP_CWORD - 2]}
	[[ $cur != = ]] || cur=
	if [[ -n ${takes[$prev]-} ]]; then
		_extprof_argument "${takes[$prev]}" "${values[$prev]}"
		return
	fi
	if [[ $files && $cur != -* ]]; then
		compopt -o filenames 2>/dev/null
		case $command in
		doctor) ;;
		daemon | mcp) COMPREPLY=($(compgen -d -- "$cur")) ;;
		*) COMPREPLY=($(compgen -f -- "$cur")) ;;
		esac
		return
	fi
	[[ $command == dump || $files ]] || all+=" --"
	((COMP_CWORD > 1)) || all="$commands help $all"
	COMPREPLY=($(compgen -W "$all" -- "$cur"))
	[[ $command != "$first" || $command == dump || $files || $cur == -* || -z $cur ]] || COMPREPLY+=($(compgen -c -- "$cur"))
}
complete -F _extprof extprof
