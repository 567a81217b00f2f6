# SPDX-License-Identifier: BSD-2-Clause
# bash completion for extprof(1)

_extprof()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} i words
	COMPREPLY=()

	# Where the command begins: after --, or at the first word that is
	# neither an option nor its argument.
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		record) ((i == 1)) || break ;;
		--) ((i++)); break ;;
		-[prFdof] | --pid | --rate | --duration | --output | --file | --format | --top | --timer)
			((i++))
			# --pid=1 is three words here
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
		COMPREPLY=($(compgen -W "$(pgrep ruby 2>/dev/null)" -- "$cur")) ;;
	-f | --format)
		COMPREPLY=($(compgen -W 'folded flamegraph summary' -- "$cur")) ;;
	-r | -F | --rate)
		COMPREPLY=($(compgen -W '49 99 999 10k' -- "$cur")) ;;
	--timer)
		COMPREPLY=($(compgen -W 'clock tick' -- "$cur")) ;;
	-d | --duration)
		COMPREPLY=($(compgen -W '5s 10s 30s 1m' -- "$cur")) ;;
	-o | --output | --file)
		compopt -o filenames 2>/dev/null
		COMPREPLY=($(compgen -f -- "$cur")) ;;
	--top) ;;
	*)
		words='-p -r -F -d -o -f -t -l -q -V --pid --rate --timer --duration --output --file
			--format --threads --lines --top --quiet --keep-root --help --usage --version --'
		((COMP_CWORD > 1)) || words="record $words"
		COMPREPLY=($(compgen -W "$words" -- "$cur"))
		[[ $cur == -* || -z $cur ]] || COMPREPLY+=($(compgen -c -- "$cur")) ;;
	esac
}
complete -F _extprof extprof
