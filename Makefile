# Everything a newcomer, CI and a release need. `make up` and `make test` install what they need themselves.

SHELL       := /bin/bash
GO          ?= go
NPM         ?= npm
CACHE       := .cache
# An npm ci that is cut short leaves files behind, but not the list that it ends with.
ENGINE      := $(CACHE)/engine/node_modules/.package-lock.json
SDK_NODE    := sdk-js/node_modules/.package-lock.json
FARO_NODE   := test/faro/node_modules/.package-lock.json
TOOLS       := $(abspath $(CACHE)/tools)
VERSION     ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS     := -s -w -X github.com/fermata-io/fermata/collector.Version=$(VERSION)
export GOFLAGS := $(GOFLAGS) -buildvcs=false

GOLANGCI_VERSION    := v2.15.0
GOFUMPT_VERSION     := v0.12.0
GOVULNCHECK_VERSION := v1.9.0

.PHONY: help fetch build engine up test test-race test-short bench lint fmt generate check-generated vuln e2e-llm e2e-gateways sdk-test sdk-ci sdk-audit faro-test clean

help: ## show this list
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

.PHONY: force
force:

fetch: engine $(TOOLS)/golangci-lint $(TOOLS)/gofumpt $(SDK_NODE) $(FARO_NODE) ## fetch all that builds, tests and linters take from registries
	$(GO) list -deps -test ./... >/dev/null

build: engine bin/fermata ## build bin/fermata and fetch the engine it runs

# Go knows best what it is made of: sources, queries, pages.
bin/fermata: force
	$(GO) build -ldflags '$(LDFLAGS)' -o $@ ./collector/cmd/fermata

engine: $(ENGINE) ## fetch the ClickHouse library (560 MB, once)

$(ENGINE): deploy/engine/package-lock.json
	@mkdir -p $(CACHE)/engine
	@command -v $(NPM) >/dev/null || { echo "npm was not found: install Node 20 with npm, or name an existing libchdb.so in FERMATA_LIBCHDB, or run bin/fermata up --clickhouse DSN"; exit 1; }
	@echo "fetching the ClickHouse engine (about 180 MB to download, once)"
	@cp deploy/engine/package.json deploy/engine/package-lock.json $(CACHE)/engine/
	@$(NPM) ci --prefix $(CACHE)/engine --ignore-scripts --no-audit --no-fund --loglevel=error --fetch-timeout=60000 || { \
	  echo "the engine could not be fetched from npm: see the error above; behind a proxy set npm_config_proxy and npm_config_https_proxy;"; \
	  echo "without a network put libchdb.so anywhere and name it in FERMATA_LIBCHDB, or run bin/fermata up --clickhouse DSN"; exit 1; }
	@touch $@

up: build ## run Fermata on this machine: engine, collector, tap, API
	bin/fermata up

test: engine ## run all tests
	$(GO) test -timeout 30m ./...

test-race: engine ## run all tests under the race detector
	$(GO) test -race -timeout 30m ./...

test-short: engine ## the tests without the long integration runs
	$(GO) test -short ./...

bench: build ## measure everything beside its baselines, about 12 minutes; FERMATA_BENCH_PEER names the peer (docs/benchmarks.md)
	$(GO) run ./test/bench $(BENCH)
	$(GO) test -count=1 -run - -bench Tap ./receivers/chunkreceiver/tap
	$(GO) test -count=1 -run - -bench . ./receivers/chunkreceiver/otlp ./internal/wire ./internal/streamlog ./internal/llmstream ./processors/repetition ./processors/stall

lint: $(TOOLS)/golangci-lint $(TOOLS)/gofumpt ## vet, linters, formatting
	$(GO) vet ./...
	$(TOOLS)/golangci-lint run --allow-parallel-runners
	@test -z "$$($(TOOLS)/gofumpt -l $$(git ls-files '*.go' | grep -v '\.gen\.go$$'))" || { $(TOOLS)/gofumpt -l $$(git ls-files '*.go'); echo 'run: make fmt'; exit 1; }

fmt: $(TOOLS)/gofumpt ## format all Go files
	$(TOOLS)/gofumpt -w $$(git ls-files '*.go' | grep -v '\.gen\.go$$')

vuln: $(TOOLS)/govulncheck ## known vulnerabilities in what the code calls
	$(TOOLS)/govulncheck ./...

generate: ## regenerate generated files
	$(GO) generate ./...

check-generated: generate ## fail when a generated file is stale
	git diff --exit-code -- '*.gen.go' docs/schema.md

$(TOOLS)/golangci-lint:
	GOBIN=$(TOOLS) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
$(TOOLS)/gofumpt:
	GOBIN=$(TOOLS) $(GO) install mvdan.cc/gofumpt@$(GOFUMPT_VERSION)
$(TOOLS)/govulncheck:
	GOBIN=$(TOOLS) $(GO) install golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION)

e2e-llm: build ## a real small LLM behind the tap, the real openai client in front (fetches 100 MB once)
	test/e2e-llm/run.sh

e2e-gateways: build ## real LiteLLM and Envoy in front of a whole Fermata (fetches 670 MB once)
	test/e2e-gateways/run.sh

$(SDK_NODE): sdk-js/package-lock.json
	$(NPM) ci --prefix sdk-js --no-audit --no-fund --loglevel=error
	@touch $@

sdk-test: $(SDK_NODE) ## unit tests of the browser SDK
	$(NPM) --prefix sdk-js test

sdk-ci: build $(SDK_NODE) ## everything of the browser SDK: lint, unit tests, sizes, Chromium, the Playground of a real `fermata up`
	$(NPM) --prefix sdk-js test
	$(NPM) --prefix sdk-js run e2e

$(FARO_NODE): test/faro/package-lock.json
	$(NPM) ci --prefix test/faro --no-audit --no-fund --loglevel=error
	@touch $@

faro-test: build $(FARO_NODE) ## the real Faro SDK and real browsers against the beacon endpoints
	$(NPM) --prefix test/faro test

sdk-audit: $(SDK_NODE) ## known vulnerabilities in the SDK's tools; needs a registry that answers audits
	$(NPM) --prefix sdk-js audit --audit-level=moderate

clean: ## remove what was built (not the engine cache)
	rm -rf bin
