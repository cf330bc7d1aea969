# hudifs: everything that is done to this repository has a target here. `make help` lists them.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO      ?= go
TOOL    := $(GO) tool -modfile=tools/go.mod
PKG     ?= ./...
RUN     ?= .
TIME    ?= 30s
NAME    ?=
SEED    ?=
CASES   ?= ../shared/corpus
BIN     ?= ./hudifs
ROUNDS  ?= 5
ONLY    ?=
SPARK   ?=
BENCH   ?=
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)

# The Go files of this module, without what tools and editors leave behind.
GOFILES = $$(find . -name '*.go' -not -path './.*')

.PHONY: help
help: ## list the targets
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: hooks ## install what tests and demo need (fuse3, engines in .venv) and the git hook
	@scripts/deps.sh test

.PHONY: hooks
hooks: ## let git run `make quick` before each commit
	@git config core.hooksPath .githooks

.PHONY: deps
deps:
	@scripts/deps.sh test

.PHONY: build
build: ## build ./hudifs
	$(GO) build -trimpath -buildvcs=false -ldflags "-X main.version=$(VERSION)" -o hudifs ./cmd/hudifs

.PHONY: test
test: deps build vet format archtest ## set up, then run every test: units with -race, real mounts, real engines (PKG= RUN= for some)
	@echo "== unit tests"; status=0; \
	$(GO) test -race -timeout 20m -run '$(RUN)' $$($(GO) list $(PKG) | grep -v /e2e) || status=1; \
	if [ '$(PKG)' = ./... ]; then $(MAKE) -k --no-print-directory oneprocessor e2e || status=1; fi; \
	exit $$status

# Where goroutines meet: what shows only when whoever waits keeps the others from running. Left out is what takes long and has no part in that.
.PHONY: oneprocessor
oneprocessor:
	@echo "== the same on one processor, where goroutines meet"
	$(GO) test -race -cpu 1 -timeout 10m -run '$(RUN)' \
		-skip '^(TestAnyOrderOfEvents|TestFaultyDisk|TestForget|TestGraceInAnyOrder|TestLatestMoves|TestNamesResolveAnew|TestOrdinaryUser|TestViews)$$' \
		./cache ./fusefs ./internal/contain ./internal/lazy ./views

.PHONY: e2e
e2e: ## only the end-to-end tests, with the built ./hudifs (RUN=)
	@test -x hudifs || $(MAKE) --no-print-directory build
	@echo "== end to end: ./hudifs, real mounts, the engines in .venv"
	HUDIFS_BIN="$(CURDIR)/hudifs" $(GO) test -count=1 -v -timeout 15m -run '$(RUN)' ./e2e

.PHONY: vet
vet:
	$(GO) vet ./...

.PHONY: format
format:
	@echo "== gofumpt"
	@bad=$$($(TOOL) gofumpt -l $(GOFILES)); test -z "$$bad" || { echo "not formatted (make fmt):" >&2; echo "$$bad" >&2; exit 1; }

.PHONY: fmt
fmt: ## format every Go file
	$(TOOL) gofumpt -w $(GOFILES)

.PHONY: archtest
archtest:
	$(GO) test ./internal/archtest

.PHONY: quick
quick: format vet archtest ## the checks of a commit: format, vet, import policy

.PHONY: lint
lint: ## golangci-lint, built from tools/go.mod (minutes the first time)
	$(TOOL) golangci-lint run

.PHONY: fuzz
fuzz: ## run each fuzz target for TIME=30s, or only NAME=
	@scripts/fuzz.sh $(TIME) $(NAME)

.PHONY: spark
spark:
	@scripts/spark.sh -c ''

.PHONY: soak
soak: TIME = 10m
soak: deps spark build ## write with Spark and Hudi, read, kill, damage; compare each answer (TIME=10m SEED=; root, Java 17)
	.venv/bin/python soak/soak.py --time $(TIME) $(if $(SEED),--seed $(SEED)) --report docs/reliability.md ./hudifs

.PHONY: test-spark
test-spark: deps spark build ## the tests that need Spark: a minute of the soak, a cluster of two workers (root, Java 17)
	@status=0; \
	.venv/bin/python soak/soak.py --time 60s $(if $(SEED),--seed $(SEED)) ./hudifs || status=1; \
	scripts/spark.sh soak/cluster.py ./hudifs || status=1; \
	exit $$status

.PHONY: demo
demo: ## mount a small real Hudi table and query it with DuckDB
	@scripts/deps.sh demo
	@$(MAKE) --no-print-directory -s build
	@demo/demo.sh

.PHONY: compatibility
compatibility: deps build ## write docs/compatibility.md from the tables in CASES=
	.venv/bin/python docs/compatibility.py ./hudifs $(CASES) > docs/compatibility.md

.PHONY: bench
bench: build ## measure beside hudi-rs and DuckDB, and write docs/performance.md (BIN= ROUNDS= SPARK=1; ONLY='render*' only prints; needs Java 17 the first time)
	@scripts/deps.sh demo
	@bench/run.sh $(BIN) --rounds $(ROUNDS) $(if $(SPARK),--spark) $(if $(ONLY),--only '$(ONLY)',--output docs/performance.md) $(BENCH)

.PHONY: testdata
testdata: ## write the tables of testdata/ anew with Spark and Hudi (needs Java 17; 10 minutes)
	@testdata/generate.sh $(NAME)

.PHONY: clean
clean: ## remove what was built and set up
	rm -rf hudifs .venv .cache
