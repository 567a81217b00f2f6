#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# syscall_names.sh CC: the names and numbers of system calls as the kernel's headers have them, as C:
# SYSCALL_X86_64(name, number) and SYSCALL_AARCH64(name, number).
# The headers of x86-64 come with a compiler for x86-64, or with Debian's cross packages.  Those of
# aarch64 are the generic ones, which every machine has.
set -eu
cc=$1

# Each name that the header of stdin defines, with its number, which may be a sum.
numbers()
{
	macro=$1
	shift
	header=$(cat)
	names=$(printf '%s\n' "$header" | $cc -E -dM "$@" - | sed -n 's/^#define __NR_\([a-z_][a-z0-9_]*\) .*/\1/p' |
		grep -v -x -e syscalls -e arch_specific_syscall | sort)
	{
		printf '%s\n' "$header"
		for name in $names; do
			printf '%s("%s", __NR_%s)\n' "$macro" "$name" "$name"
		done
	} | $cc -E -P "$@" - | grep "^$macro("
}

if $cc -E -dM - </dev/null | grep -q '#define __x86_64__ '; then
	echo '#include <asm/unistd_64.h>' | numbers SYSCALL_X86_64
elif [ -e /usr/x86_64-linux-gnu/include/asm/unistd_64.h ]; then
	echo '#include "/usr/x86_64-linux-gnu/include/asm/unistd_64.h"' | numbers SYSCALL_X86_64
fi
# What arch/arm64/include/uapi/asm/unistd.h chooses of it.
numbers SYSCALL_AARCH64 -U__BITS_PER_LONG -D__ARCH_WANT_RENAMEAT -D__ARCH_WANT_NEW_STAT \
	-D__ARCH_WANT_SET_GET_RLIMIT -D__ARCH_WANT_TIME32_SYSCALLS -D__ARCH_WANT_SYS_CLONE3 \
	-D__ARCH_WANT_MEMFD_SECRET <<'END'
#include <asm-generic/unistd.h>
END
