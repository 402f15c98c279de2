# GNU make. `make` lists what there is; each target says what it does and how long it took.

SHELL := /bin/sh
CASES ?= 20000
SEED ?=
ONLY ?=
MACHINES ?= 2500
SEEDS ?= 3000
FIRST ?= 1
SCHEDULER ?= kubenexus

CARGO_VERSION_MIN := 1.95
GO_VERSION_MIN := 1.26

TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
ORACLE := .cache/oracle
ORACLE_FOLDER := tests/parity/oracle
ORACLE_SOURCES := $(wildcard $(ORACLE_FOLDER)/*.go) $(ORACLE_FOLDER)/go.mod $(ORACLE_FOLDER)/go.sum
KUBELET_ORACLE := .cache/kubelet-oracle
KUBELET_ORACLE_FOLDER := tests/kubelet/oracle
KUBELET_ORACLE_SOURCES := $(wildcard $(KUBELET_ORACLE_FOLDER)/*.go $(KUBELET_ORACLE_FOLDER)/*.s) \
	$(KUBELET_ORACLE_FOLDER)/go.mod $(KUBELET_ORACLE_FOLDER)/go.sum

# $(call step,WHAT,COMMAND) runs a command, and prints how long it took.
define step
	@printf '\n==> %s\n' '$(1)'; \
	start=$$(date +%s); \
	$(2) || { code=$$?; printf '==> %s: FAILED\n' '$(1)' >&2; exit $$code; }; \
	printf '==> %s: %s s\n' '$(1)' "$$(($$(date +%s) - start))"
endef

# $(call need,VERSION FOUND,VERSION NEEDED,WHAT TO DO) fails if the version is missing or older.
define need
	@found='$(strip $(1))'; \
	oldest=$$(printf '%s\n%s\n' "$$found" '$(2)' | sort -t . -k 1,1n -k 2,2n | head -n 1); \
	if [ -z "$$found" ] || [ "$$oldest" != '$(2)' ]; then \
		printf '%s (found: %s)\n' '$(strip $(3))' "$${found:-none}" >&2; \
		exit 1; \
	fi
endef

.DEFAULT_GOAL := help
# Steps share the cores and cargo's lock: side by side they would only mix their output.
.NOTPARALLEL:
.PHONY: help build test unit parity e2e bench demo fmt fmt-check lint tidy deny clean \
	need-cargo need-go

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: need-cargo ## build the kubenexus command, optimised
	$(call step,release build,cargo build --release --locked)

# Cheapest first. The cases are the same for everybody, so that a failure is nobody's bad luck;
# `make parity` draws others every day.
test: SEED := 1
test: fmt-check tidy lint unit parity kubelet swarm e2e ## run every check and every test

unit: need-cargo ## run the tests of all crates
	$(call step,unit tests,cargo test --workspace --locked --quiet)

parity: need-cargo $(ORACLE) ## compare with kube-scheduler; CASES=20000, SEED=today
	$(call step,build kubenexus and parity,\
		cargo build --release --locked -p kubenexus -p kubenexus-parity)
	$(call step,parity on $(CASES) cases,$(TARGET_DIR)/release/parity --cases $(CASES) \
		$(if $(SEED),--seed $(SEED)) --kubenexus $(TARGET_DIR)/release/kubenexus --oracle $(ORACLE))

.PHONY: kubelet
kubelet: need-cargo $(KUBELET_ORACLE) ## compare with the kubelet's managers; MACHINES=2500, SEED=today
	$(call step,build the comparison with the kubelet,\
		cargo build --release --locked -p kubenexus-kubelet)
	$(call step,kubelet on $(MACHINES) machines,$(TARGET_DIR)/release/kubelet \
		--cases $(MACHINES) $(if $(SEED),--seed $(SEED)) --oracle $(KUBELET_ORACLE))

.PHONY: swarm
swarm: need-cargo ## run the scheduler in worlds full of faults; SEEDS=3000, FIRST=1
	$(call step,build kubenexus,cargo build --release --locked -p kubenexus)
	$(call step,swarm of $(SEEDS) seeds from $(FIRST),$(TARGET_DIR)/release/kubenexus simulate \
		--swarm --seeds $(SEEDS) --first $(FIRST))

# The control plane is built once, in some ten minutes, and says so while it is.
e2e: need-cargo ## run the scheduler on a real control plane; ONLY=NAME, SCHEDULER=kube-scheduler
	$(call step,build kubenexus with its agent and the end-to-end suite,\
		cargo build --release --locked -p kubenexus -p kubenexus-agent -p kubenexus-e2e)
	$(call step,end to end,folder=$$(tests/control-plane/provide.sh) && \
		$(TARGET_DIR)/release/e2e --control-plane "$$folder" \
		$(if $(filter kube-scheduler,$(SCHEDULER)),--reference,\
		--kubenexus $(TARGET_DIR)/release/kubenexus) $(if $(ONLY),--only '$(ONLY)'))

# The suite is built once too, in some four minutes more. Which specs may fail is written down in
# tests/conformance/expected-failures.txt; none may with SCHEDULER=kube-scheduler.
.PHONY: conformance
conformance: need-cargo ## run Kubernetes' own scheduling tests; SCHEDULER=kube-scheduler, ONLY=REGEX
	$(call step,build kubenexus and the harness,\
		cargo build --release --locked -p kubenexus -p kubenexus-conformance)
	$(call step,conformance,folder=$$(tests/control-plane/provide.sh --with-suite) && \
		$(TARGET_DIR)/release/conformance --control-plane "$$folder" \
		$(if $(filter kube-scheduler,$(SCHEDULER)),--reference,\
		--kubenexus $(TARGET_DIR)/release/kubenexus) $(if $(ONLY),--only '$(ONLY)'))

bench: need-cargo $(ORACLE) ## run perf/workloads, and print one line per figure; ONLY=NAME
	$(call step,benchmarks,cargo run --release --locked -p kubenexus-perf -- \
		--oracle "$(CURDIR)/$(ORACLE)" $(if $(ONLY),--only '$(ONLY)'))

.PHONY: bench-live
bench-live: need-cargo ## measure on a real control plane, about an hour; ONLY=PART
	$(call step,build kubenexus and the live benchmarks,\
		cargo build --release --locked -p kubenexus -p kubenexus-perf-live)
	$(call step,live benchmarks,folder=$$(tests/control-plane/provide.sh) && \
		$(TARGET_DIR)/release/bench-live --kubenexus $(TARGET_DIR)/release/kubenexus \
		--control-plane "$$folder" $(if $(ONLY),--only '$(ONLY)'))

.PHONY: trace-check
trace-check: need-cargo ## compare baselines with published figures; TRACES=FOLDER, not in here
	$(call step,build kubenexus,cargo build --release --locked -p kubenexus)
	$(call step,traces,tests/traces/check.sh $(TARGET_DIR)/release/kubenexus '$(TRACES)')

demo: need-cargo ## watch pods being placed on an embedded cluster
	@cargo run --release --locked --quiet -- demo

# Nothing is printed after the folder, so that a caller can take the last line.
.PHONY: control-plane
control-plane: ## provide etcd, kube-apiserver and the rest for tests, and print their folder
	@tests/control-plane/provide.sh

fmt: need-cargo ## format the Rust code
	$(call step,format,cargo fmt --all)

fmt-check: need-cargo ## check the format of the Rust code
	$(call step,format check,cargo fmt --all --check)

lint: need-cargo ## run clippy, warnings are errors
	$(call step,clippy,cargo clippy --workspace --all-targets --locked --quiet -- -D warnings)

tidy: need-cargo ## check the rules of xtask: edges, banned calls, lengths, licences
	$(call step,tidy,cargo xtask tidy)

deny: need-cargo ## check licences, bans and advisories with cargo-deny
	@cargo deny --version >/dev/null 2>&1 || { \
		echo 'cargo-deny is missing; install it with: cargo install --locked cargo-deny' >&2; \
		exit 1; \
	}
	$(call step,cargo-deny,cargo deny check)

clean: ## remove everything that was built
	$(call step,clean,cargo clean && rm -rf .cache)

$(ORACLE): $(ORACLE_SOURCES) | need-go
	@echo 'The first build of kube-scheduler for comparison takes about five minutes.'
	@mkdir -p $(dir $@)
	$(call step,build the oracle,cd $(ORACLE_FOLDER) && \
		GOTOOLCHAIN=local GOFLAGS=-mod=readonly go build -o '$(CURDIR)/$@' . )

$(KUBELET_ORACLE): $(KUBELET_ORACLE_SOURCES) | need-go
	@mkdir -p $(dir $@)
	$(call step,build the kubelet oracle,cd $(KUBELET_ORACLE_FOLDER) && \
		GOTOOLCHAIN=local GOFLAGS=-mod=readonly go build -o '$(CURDIR)/$@' . )

need-cargo:
	$(call need,$(shell cargo --version 2>/dev/null | sed 's/^cargo \([0-9.]*\).*/\1/'),$(CARGO_VERSION_MIN),\
		cargo $(CARGO_VERSION_MIN) or newer is needed: install Rust with rustup and rust-toolchain.toml does the rest)

need-go:
	$(call need,$(shell go env GOVERSION 2>/dev/null | sed 's/^go\([0-9.]*\).*/\1/'),$(GO_VERSION_MIN),\
		Go $(GO_VERSION_MIN) or newer is needed to build kube-scheduler and kubelet for comparison)
