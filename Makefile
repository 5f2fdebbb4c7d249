# make demo    installs what is missing, builds, and shows the main job on a practice cluster
# make test    installs what is missing and runs everything: linters, checks, all tests with the race detector
# make check   the inner loop: format, linters and the fast tests, under two minutes once the caches are warm
# make drill   proves the dispatch contract on a practice cluster, and leaves the evidence
# make drill-soundness  partitions of 5 s to 60 s: nothing lands after evidence accounted for it; writes docs/late-landing.md
# make sim     random histories over the real store and executors, ten times as many as make test runs
# make bench   benchmarks; bench-docs writes docs/benchmarks.md too
# make build   bin/clew

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.NOTPARALLEL:
.DEFAULT_GOAL := build

CACHE := $(CURDIR)/.cache

# Go keeps its caches under HOME. Where there is none, they go beside the sources.
ifeq ($(strip $(HOME)),)
export HOME := $(CACHE)/home
endif

# The version comes from git here, so Go's own stamping, which fails in a tree owned by somebody else, is off.
export GOFLAGS := $(GOFLAGS) -buildvcs=false
export GOWORK := off

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS := -s -w -X github.com/clewops/clew/internal/cli.buildVersion=$(VERSION)
PROGRAMS := $(wildcard cmd/*)

# Packages whose tests need neither a database nor a lab.
FAST := $(wildcard internal/refusal internal/secret internal/ledger internal/dispatch internal/config internal/archtest)

.PHONY: build demo announce drill drill-soundness test check sim faults fuzz procs bench bench-small bench-docs lint format format-check cross tidy-check deps deps-check docs tools-test ensure clean

build:
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/ $(PROGRAMS:%=./%)

demo: announce ensure build
	CGO_ENABLED=0 go build -o $(CACHE)/bin/demo ./scripts/demo
	$(CACHE)/bin/demo bin/clew

announce:
	@[ -x bin/clew ] || echo "building from nothing: this takes some minutes once, and seconds after that"

# Every row of the dispatch contract, on both stores and over both kinds of links. Network namespaces need root; without it
# their rows are skipped, and the run says that it is no evidence. The evidence stays in OUT.
drill: ensure build
	out=$${OUT:-$$(mktemp -d)/evidence}; \
	bin/clew lab drill run --store sqlite,postgres --net userland,netns --out "$$out"; \
	bin/clew lab drill verify "$$out"

# The page of a run: make drill-docs OUT=DIR
drill-docs: build
	bin/clew lab drill verify "$(OUT)"
	bin/clew lab drill report "$(OUT)" -o md > docs/dispatch-safety.md

# Accounting by evidence against real partitions, each condition of it taken away in turn, and how late requests land: half an
# hour at full size, as root. It writes docs/late-landing.md; SENDS, CONTROLS, REPEAT and NODES make it smaller or larger.
SENDS ?= 200
CONTROLS ?= 8
REPEAT ?= 1
NODES ?= 24
drill-soundness: ensure build
	bin/clew lab drill late --sends $(SENDS) --controls $(CONTROLS) --repeat $(REPEAT) --nodes $(NODES) --write docs/late-landing.md

# The linters contain what "go vet" checks, hence -vet=off. At most two packages at once: several start servers.
test: TARGETS = darwin/arm64
test: ensure format-check lint tidy-check deps-check cross tools-test
	CGO_ENABLED=1 go test -race -shuffle=on -vet=off -p 2 -timeout 40m ./...
	CGO_ENABLED=0 $(SIM)
	$(MAKE) faults fuzz

# Every cell of the fault matrix, on both stores. With the race detector it is a sixth of them.
faults: ensure
	CGO_ENABLED=0 go test -vet=off -shuffle=on -timeout 20m -run '^TestFaultMatrix' ./internal/executor

# Eight processes at once for a minute on each store; a test run gives them ten seconds.
procs: ensure
	CLEW_TEST_CONTENTION_SECONDS=60 go test -vet=off -count=1 -timeout 20m -v -run '^TestManyProcesses' ./internal/store/storetest/contention

# Every fuzz target for a number of executions, one target at a time. The programs are built as they are for other tests:
# built for guidance, all that they link would be compiled once more. To search with guidance: go test -fuzz NAME PACKAGE.
EXECUTIONS ?= 1000
fuzz:
	@mkdir -p $(CACHE)/fuzz
	@for dir in $$(grep -rl --include='*_test.go' '^func Fuzz' internal | xargs -n1 dirname | sort -u); do \
		program="$(CACHE)/fuzz/$${dir//\//-}.test"; \
		CGO_ENABLED=0 go test -vet=off -c -o "$$program" "./$$dir"; \
		for name in $$(grep -hoE '^func Fuzz[A-Za-z0-9]*' "$$dir"/*_test.go | cut -c6- | sort); do \
			echo "$$name in $$dir"; \
			out=$$(cd "$$dir" && "$$program" -test.run '^$$' -test.fuzz "^$$name\$$" -test.fuzztime $(EXECUTIONS)x \
				-test.fuzzcachedir $(CACHE)/fuzz/corpus 2>&1) || { echo "$$out"; exit 1; }; \
		done; \
	done

# Random histories: 20,000 on SQLite, 2,000 on PostgreSQL, and 500 on each with the race detector; without -scale a tenth.
# One that does not hold prints the command that repeats it.
SIM = go test -vet=off -shuffle=on -timeout 2h ./internal/sim
sim: ensure
	CGO_ENABLED=0 $(SIM) -count=1 -scale=1
	CGO_ENABLED=1 $(SIM) -count=1 -race -scale=1

check: format-check lint
	go test -vet=off -shuffle=on $(FAST:%=./%/...)

# What the store costs, beside the machine's floor, in one run of a quarter of an hour or so.
MEASURE = go test -vet=off -count=1 -timeout 2h -run '^TestMeasure$$' ./internal/bench -full
bench: bench-small
	$(MEASURE) -v

bench-docs:
	$(MEASURE) -write $(CURDIR)/docs/benchmarks.md

# Only packages that have benchmarks are built.
bench-small:
	go test -vet=off -run '^$$' -bench . -benchmem \
		$$(grep -rl --include='*_test.go' '^func Benchmark' internal cmd | xargs -r -n1 dirname | sort -u | sed 's,^,./,')

$(CACHE)/bin/%: tools/go.mod tools/go.sum $(wildcard tools/*/*.go)
	go build -C tools -o $@ $(if $(filter gofumpt,$*),mvdan.cc/gofumpt,./$*)

lint: $(CACHE)/bin/lint
	go vet -vettool=$< ./...
	go vet -C tools -vettool=$< ./...

SOURCES = $$(find . -name '*.go' -not -path './.*')

format-check: $(CACHE)/bin/gofumpt
	@unformatted=$$($< -l $(SOURCES)); \
	if [ -n "$$unformatted" ]; then echo "not formatted (run: make format):"; echo "$$unformatted"; exit 1; fi

format: $(CACHE)/bin/gofumpt
	$< -w $(SOURCES)

# Where it is not built for every day. A test run is content with the other system.
TARGETS ?= darwin/arm64 linux/arm64
cross:
	for target in $(TARGETS); do \
		echo "build for $$target"; \
		CGO_ENABLED=0 GOOS=$${target%/*} GOARCH=$${target#*/} go build ./...; \
		CGO_ENABLED=0 GOOS=$${target%/*} GOARCH=$${target#*/} go build -o /dev/null $(PROGRAMS:%=./%); \
	done

tidy-check:
	go mod tidy -diff
	go -C tools mod tidy -diff

# Parts of documents that are written from the code. The tests compare them.
docs:
	go test -vet=off -count=1 -run 'TestArchitectureNamesThePlaces|TestProtocolNamesThePlaces' ./internal/archtest -update
	go test -vet=off -count=1 -run 'TestProtocolPage' ./internal/dispatch -update
	go test -vet=off -count=1 -run 'TestSafetyPage' ./internal/drill -update

deps: $(CACHE)/bin/deps
	$< -write

deps-check: $(CACHE)/bin/deps
	$<

tools-test:
	go test -C tools -vet=off ./...

ensure:
	@./scripts/ensure

clean:
	rm -rf bin
