# SPDX-License-Identifier: BSD-2-Clause
# What of extprof is in its unit tests too.  Every file of a room belongs to the program: to add
# one, put it there.  SRC: this directory.
ROOMS := base wire parser frames process ruby native remote profile output recording analysis engine dump source options confine daemon send serve library cli
# The unit tests leave out what opens BPF programs and what begins the program.
NEEDS_BPF := source/bpf_session source/bpf_sources source/bpf_load source/bpf_unwind source/source source/cpu source/cpu_timers source/permission source/machine \
	source/usdt_attach source/ruby_probe source/alloc source/gc source/sched source/sched_sums source/syscall source/event \
	engine/reader library/target library/doctor
PROGRAM_ONLY := cli/environment cli/power_drop cli/main cli/record cli/mcp cli/recordings cli/redact cli/recorded cli/recorded_files cli/diff cli/annotate cli/report cli/result cli/run cli/spawn cli/signals cli/stat cli/doctor cli/daemon cli/daemon_cost cli/daemon_line cli/daemon_metrics cli/daemon_stuck cli/push cli/push_folder cli/push_modes cli/push_segment cli/serve cli/top cli/top_at cli/top_at_history cli/top_screen cli/top_show cli/top_windows
ALL_SOURCES := $(filter-out recording/extension,$(foreach room,$(ROOMS),$(patsubst $(SRC)/%.c,%,$(sort $(wildcard $(SRC)/$(room)/*.c)))))
LIBRARY := $(filter-out $(NEEDS_BPF) $(PROGRAM_ONLY),$(ALL_SOURCES))
# One object of libstdc++.a reads names of C++.  The library comes with the compiler for C++ (g++).  Without it names are shown
# as they are in files.
LIBSTDCXX := $(wildcard $(shell $(CC) -print-file-name=libstdc++.a))
DEMANGLE_CFLAGS := $(if $(LIBSTDCXX),-DEXTPROF_DEMANGLE)
# libcurl is loaded when something is sent, so its headers alone are needed.  Without them `extprof push' says so.
CURL_CFLAGS := $(if $(shell $(CC) -E -include curl/curl.h -x c /dev/null >/dev/null 2>&1 && echo yes),-DEXTPROF_CURL)
# The same of libmicrohttpd and `extprof serve'.
MICROHTTPD_CFLAGS := $(if $(shell $(CC) -E -include microhttpd.h -x c /dev/null >/dev/null 2>&1 && echo yes),-DEXTPROF_MICROHTTPD)
# liblzma unpacks the names of stripped files (.gnu_debugdata).
LZMA_CFLAGS := $(if $(shell $(CC) -E -include lzma.h -x c /dev/null >/dev/null 2>&1 && echo yes),-DEXTPROF_LZMA)
# extprof-lines reads debug information by libdw.  Without its headers there is no such program, and no lines of native code.
LIBDW_CFLAGS := $(if $(shell $(CC) -E -include elfutils/libdw.h -x c /dev/null >/dev/null 2>&1 && echo yes),-DEXTPROF_LIBDW)
LINES_SOURCES := lines/main lines/dwarf parser/sandbox parser/demangle parser/demangle_rust base/array
LINES_LIBS := -ldw -lelf -lseccomp -lunistring $(if $(LIBSTDCXX),-l:libstdc++.a)
# Messages of protocol buffers, from which C is generated, and the libraries of all this.
PROTOS := $(patsubst $(SRC)/output/%.proto,%,$(sort $(wildcard $(SRC)/output/*.proto)))
LIBRARY_LIBS := -lelf -lprotobuf-c -ljansson -lseccomp -lsqlite3 -lz -lunistring $(if $(LZMA_CFLAGS),-llzma) $(if $(LIBSTDCXX),-l:libstdc++.a) -lm
# What only the program needs: the screen of extprof top, and to give capabilities back.
PROGRAM_LIBS := -lncursesw -lcap
# The loadable extension of SQLite: these files, compiled for it.
EXTENSION := recording/extension recording/samples_table recording/samples_columns recording/samples_functions recording/samples_views recording/requests_table recording/requests recording/tables \
	profile/known_places frames/owner wire/trace recording/schema recording/block frames/frame base/attributes base/text base/array base/map64 base/diag
EXTENSION_LIBS := -lz -lunistring
# libextprof has every room but cli, confine, daemon, send and serve.  The table of options and the texts of times are in both.
PROGRAM := $(filter cli/% confine/% daemon/% send/% serve/%,$(ALL_SOURCES))
SHARED_ROOM := $(filter options/%,$(ALL_SOURCES)) base/utc
