# SPDX-License-Identifier: BSD-2-Clause
# Builds a patched CRuby and extprof from what ./configure.sh found. `make help` explains.
# GNU make. CRuby and extprof have makefiles of their own; this one calls them.

TOP := $(CURDIR)
BUILD := $(TOP)/build
-include config.mk

.DEFAULT_GOAL := all
NEED_CONFIG := $(filter-out help clean distclean,$(or $(MAKECMDGOALS),all))
ifneq ($(NEED_CONFIG),)
ifeq ($(wildcard config.mk),)
$(error Nothing is configured yet. Run ./configure.sh first (./configure.sh --help))
endif
ifeq ($(origin PREFIX),command line)
$(error PREFIX is compiled into ruby: ./configure.sh --prefix=$(PREFIX); DESTDIR= stages)
endif
endif

# The patches that the scripts work with. A config.mk from before there were two series has none.
export SERIES_DIR := $(TOP)/patches/ruby-$(or $(RUBY_SERIES),3.4)

# Settings of the user's ruby must not reach the ruby that is built and tested.
unexport RUBYOPT RUBYLIB RUBY GEM_HOME GEM_PATH BUNDLE_GEMFILE BUNDLE_PATH

# Inside a recipe MAKEFLAGS names a jobserver if make was given -j.
SUBMAKE = $(MAKE) --no-print-directory $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(JOBS))
WITH_CCACHE = $(if $(CCACHE_PATH),PATH="$(CCACHE_PATH):$$PATH")

RUBY := $(BUILD)/bin/ruby
EXTPROF := $(BUILD)/bin/extprof
# A config.mk that is older than the formats has none.
WITH_PROTOC_C = $(if $(PROTOC_C),PROTOC_C='$(PROTOC_C)')
FOR_TESTS = env TOP='$(TOP)' BUILD='$(BUILD)' RUBY='$(RUBY)' EXTPROF='$(EXTPROF)'
EXTPROF_MAKE = $(SUBMAKE) -C tools/extprof BUILD='$(BUILD)/extprof' PREFIX='$(PREFIX)' \
	DESTDIR='$(DESTDIR)' CC='$(CC)' $(if $(CFLAGS),CFLAGS='$(CFLAGS)') \
	CLANG='$(CLANG)' BPFTOOL='$(BPFTOOL)' $(WITH_PROTOC_C)
PARTS := ruby $(if $(filter no,$(WITH_EXTPROF)),,extprof)
SUITES := $(if $(filter no,$(WITH_EXTPROF)),series ruby,unit series ruby live)

.PHONY: all ruby extprof install uninstall deb dist check demo fuzz bench bench-truth clean distclean help \
	check-unit check-series check-ruby check-live check-cost

all: $(PARTS)

# The ruby to run from build/ is a staged installation: $(BUILD)/bin/ruby finds its library.
ruby:
	@scripts/same-series '$(SERIES_KEY)'
	+@$(WITH_CCACHE) $(SUBMAKE) -C '$(BUILD)/ruby' -s V=0 SHOWFLAGS= main
	+@scripts/stage '$(BUILD)' '$(MAKE)'

extprof:
	+@$(EXTPROF_MAKE) all
	@mkdir -p '$(BUILD)/bin' && ln -sf ../extprof/extprof '$(EXTPROF)'

# bundled-gems= keeps CRuby from downloading: it installs those that are unpacked already.
install: all
	+@scripts/bundled-gems '$(BUILD)' '$(MAKE)'
	+$(SUBMAKE) -C '$(BUILD)/ruby' install bundled-gems= DESTDIR='$(DESTDIR)'
ifneq ($(WITH_EXTPROF),no)
	+$(EXTPROF_MAKE) install
endif

uninstall:
	+$(SUBMAKE) -C '$(BUILD)/ruby' uninstall DESTDIR='$(DESTDIR)'
ifneq ($(WITH_EXTPROF),no)
	+$(EXTPROF_MAKE) uninstall
endif

# Packages are made of what is installed, into another place.
deb: all
	+@scripts/bundled-gems '$(BUILD)' '$(MAKE)'
	+@CC='$(CC)' scripts/deb '$(BUILD)' '$(MAKE)' '$(PREFIX)' $(PARTS)

dist:
	@scripts/dist '$(BUILD)' '$(RUBY_SOURCE)'

# Every suite runs, whatever the others did. The last line is the total.
check: all
	@rm -rf '$(BUILD)/check'
	@[ '$(WITH_EXTPROF)' != no ] || echo 'extprof is not configured: suites unit and live are left out'
	+@BUILD='$(BUILD)' scripts/check-suites '$(MAKE) --no-print-directory' $(SUITES); \
	scripts/check-total '$(BUILD)/check' $(SUITES)

check-unit:
	+@$(FOR_TESTS) scripts/run-suite unit $(SUBMAKE) -C tests/unit check \
	BUILD='$(BUILD)/unit' CC='$(CC)' CLANG='$(CLANG)' $(WITH_PROTOC_C)
check-series:
	@$(FOR_TESTS) scripts/run-suite series tests/series/run
check-ruby: ruby
	+@$(FOR_TESTS) scripts/run-suite ruby scripts/check-ruby '$(SUBMAKE)'
check-live: all
	@$(FOR_TESTS) EXTPROF_TESTS_AGAIN=8 scripts/run-suite live tests/live/run

# Against stock ruby, built for it. 3: not decided, which is shown, and no failure.
check-cost: all
	+@$(FOR_TESTS) scripts/run-suite cost sh -c 'benchmarks/test/run && { benchmarks/run gate || [ $$? -eq 3 ]; }'

# Fuzzers of what parses hostile input, SECONDS each. One of them: make -C tests/fuzz core.
fuzz:
	+@$(SUBMAKE) -C tests/fuzz check BUILD='$(BUILD)/fuzz' CC='$(CC)' CLANG='$(CLANG)' $(WITH_PROTOC_C) \
	$(if $(SECONDS),SECONDS='$(SECONDS)')

demo: all
	@$(FOR_TESTS) demo/run
bench: all
	@$(FOR_TESTS) benchmarks/run
# Programs that know the truth, under extprof and other profilers. Gems are installed into build/truth.
bench-truth: all
	@$(FOR_TESTS) benchmarks/truth/run

clean:
	rm -rf '$(BUILD)/bin' '$(BUILD)/check' '$(BUILD)/extprof' '$(BUILD)/unit' '$(BUILD)/fakes' '$(BUILD)/live' '$(BUILD)/stage' '$(BUILD)/fuzz' '$(BUILD)/deb'
	+[ ! -e '$(BUILD)/ruby/Makefile' ] || $(MAKE) -C '$(BUILD)/ruby' clean >/dev/null

# Only what configure.sh and make put there: BUILD may be a directory with other things in it.
distclean:
	cd '$(BUILD)' 2>/dev/null && rm -rf apt bin ccache check deb extprof fakes fuzz live ruby ruby-deb src src.git stage truth unit \
	source stage.stamp *.log extprof-*.tar.xz ruby.configured || :
	rmdir '$(BUILD)' 2>/dev/null || :
	rm -f config.mk

help:
	@sed -n '/^targets:/,$$p' scripts/targets.txt
