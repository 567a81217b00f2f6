# SPDX-License-Identifier: BSD-2-Clause
# What of extprof is in its unit tests too: neither main nor they leave it out.
LIBRARY := accounting backoff collect diag elf_search errors grace jitlog layout lines map64 names \
	options patience profile report space subject symbol_read symbols target text threads timer \
	timer_cost output/file output/flamegraph output/folded output/summary
