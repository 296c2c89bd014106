# The doors into the project. CMake does the building (CMakePresets.json), scripts/ the rest.
PREFIX  ?= /usr/local
LIBDIR  ?= $(PREFIX)/lib
DESTDIR ?=
PROGRAMS ?= build
JOBS    ?= $(shell nproc)
preset  ?= dev

programs = cove cove-guest cove-attempt cove-image cove-mcp cove_shared
export JOBS

.PHONY: all run test check steady test-kvm bench deb dist python lint format install deps clean help build
all: ## build the release programs: build/cove and its companions
	@scripts/build release $(programs)

run: ## install what is missing, build, and show a sandbox at work
	@[ -e build/cove ] || echo "The first time this takes about $$((1 + 4 / $(JOBS))) minutes: packages, then a build."
	@scripts/install-deps build
	@$(MAKE) --no-print-directory all
	@scripts/tour

test: ## install what is missing, build, and run every check; ends with a summary
	@scripts/test

check: ## the everyday loop: build what changed, run unit tests and the contract on local and native
	@scripts/test --check

steady: ## `make test` five times in a row beside two busy loops and a disk that is synced without pause
	@scripts/test --steady $(ROUNDS)

test-kvm: deps ## real KVM and the real msb, in a translated machine that has them: minutes
	@scripts/build release cove cove-guest cove-image conformance-basics conformance-profile conformance-isolation
	@tests/kvm/test-kvm build/release

bench: deps ## measure, as ratios in one run; BENCH_ARGS=--json for machines
	@scripts/build release
	@build/release/bench/cove-bench $(BENCH_ARGS)

lint: deps ## clang-format, clang-tidy and a build file by file; only what changed since the last clean run
	@scripts/format --check
	@scripts/check-includes
	@scripts/check-names
	@scripts/build dev
	@scripts/tidy --deep

python: all ## build the Python wheel and sdist: build/python
	@python3 bindings/python/backend/cove_build.py build/python

deb: all ## build the Debian package: build/cove_VERSION_amd64.deb
	@scripts/package-deb $(PROGRAMS) build

dist: all ## build an archive that runs from anywhere: build/cove-VERSION-linux-x86_64.tar.gz
	@scripts/package-dist $(PROGRAMS) build

format: ## write every source file as .clang-format says
	@scripts/format

build: ## build one preset with its tests: make build preset=asan (dev, release, asan, tsan, fuzz)
	@scripts/build $(preset)

version = $(shell sed -n 's/^project.cove VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
fill = s|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@VERSION@|$(version)|
install: all ## install below PREFIX (/usr/local); DESTDIR for packagers
	install -D -m 755 $(PROGRAMS)/cove $(DESTDIR)$(PREFIX)/bin/cove
	install -D -m 755 $(PROGRAMS)/cove-guest $(DESTDIR)$(PREFIX)/libexec/cove/cove-guest
	install -D -m 755 $(PROGRAMS)/cove-attempt $(DESTDIR)$(PREFIX)/libexec/cove/cove-attempt
	install -D -m 755 $(PROGRAMS)/cove-image $(DESTDIR)$(PREFIX)/libexec/cove/cove-image
	install -D -m 755 $(PROGRAMS)/cove-mcp $(DESTDIR)$(PREFIX)/libexec/cove/cove-mcp
	install -D -m 755 $(PROGRAMS)/libcove.so.1 $(DESTDIR)$(LIBDIR)/libcove.so.1
	ln -sf libcove.so.1 $(DESTDIR)$(LIBDIR)/libcove.so
	install -D -m 644 include/cove.h $(DESTDIR)$(PREFIX)/include/cove.h
	install -d $(DESTDIR)$(PREFIX)/share/bash-completion/completions $(DESTDIR)$(PREFIX)/share/zsh/site-functions
	$(PROGRAMS)/cove completion bash >$(DESTDIR)$(PREFIX)/share/bash-completion/completions/cove
	$(PROGRAMS)/cove completion zsh >$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_cove
	$(PROGRAMS)/cove man --directory $(DESTDIR)$(PREFIX)/share/man/man1
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(PREFIX)/lib/systemd/user
	sed '$(fill)' packaging/cove.pc.in >$(DESTDIR)$(LIBDIR)/pkgconfig/cove.pc
	sed '$(fill)' packaging/cove-mcp.service.in >$(DESTDIR)$(PREFIX)/lib/systemd/user/cove-mcp.service

deps: ## install the Debian packages of scripts/packages.txt that are missing
	@scripts/install-deps test

clean: ## remove everything that was built
	rm -rf build

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 10
