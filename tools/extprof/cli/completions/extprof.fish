# SPDX-License-Identifier: BSD-2-Clause
# fish completion for extprof(1).  The options come from extprof itself: extprof help --list COMMAND.

# The command that the line has so far; "none" while it can still be given.
function __extprof_command
    set -l words (commandline -opc)
    if test (count $words) -lt 2
        echo none
    else if contains -- $words[2] $__extprof_commands help
        echo $words[2]
    else
        # Options alone are those of record.
        echo record
    end
end

# Is it one of these?
function __extprof_is
    contains -- (__extprof_command) $argv; and not __extprof_runs
end

# Are these the words of a program that is run?
function __extprof_runs
    contains -- -- (commandline -opc)
end

# That program and its arguments.
function __extprof_program
    set -l words (commandline -opc)
    set -l at (contains -i -- -- $words)
    string join -- ' ' (string escape -- $words[(math $at + 1)..-1]) (commandline -ct)
end

# What runs ruby, whatever its name: one that a script begins with has that of the script.
function __extprof_pids
    command ls -l /proc/*/exe 2>/dev/null | string replace -rf '.* /proc/([0-9]+)/exe -> .*/ruby[^/]*$' '$1'
end

# What an option takes, by the name that its help gives to it and the words that are known.
function __extprof_argument -a name
    switch $name
        case PID
            __fish_complete_list , __extprof_pids
        case USER
            __fish_complete_users
        case PATH
            __fish_complete_directories (string replace -r '^(?!/)' /sys/fs/cgroup/ -- (commandline -ct))
        case TIME
            printf '%s\n' 500ms 1s 10s 1m
        case SIZE
            printf '%s\n' 64k 512k 1M
        case EVENT
            printf '%s\n' page-faults context-switches cycles instructions cache-misses
        case DIR
            __fish_complete_directories (commandline -ct)
        case FILE
            __fish_complete_path (commandline -ct)
        case '*'
            test (count $argv) -gt 1; and __fish_complete_list , "printf '%s\n' $argv[2..-1]"
    end
end

function __extprof_options -a command
    set -l here "__extprof_is $command"
    test $command = record; and set here "__extprof_is none record"
    extprof help --list $command 2>/dev/null | while read -l -d \t letters name argument words default brief
        set -l given -l $name -d $brief
        for letter in (string split '' -- $letters)
            contains -- "$letter" '' '?'; or set -a given -s $letter
        end
        # --help takes its argument behind = alone.
        if test -n "$argument" -a $name != help
            set -a given -x -a "(__extprof_argument $argument $words)"
        end
        complete -c extprof -n $here $given
    end
end

set -g __extprof_commands (extprof help --list 2>/dev/null | string split -f 1 \t)
complete -c extprof -f
extprof help --list 2>/dev/null | while read -l -d \t command summary
    complete -c extprof -n '__extprof_is none' -a $command -d $summary
    complete -c extprof -n '__extprof_is help' -a $command -d $summary
    __extprof_options $command
end
complete -c extprof -n '__extprof_is none' -a help -d 'show the commands, or the options of one'
complete -c extprof -n '__extprof_is diff annotate report heatmap daemon push serve sql verify redact mcp' -F
complete -c extprof -n __extprof_runs -a '(complete -C (__extprof_program))'
