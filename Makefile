# What people and CI run, by the same names.

CARGO ?= cargo
# Where cargo puts things, and what this file makes beside them.
OUT := $(or $(CARGO_TARGET_DIR),target)

HOST_ARCH := $(shell uname -m)
MUSL := $(HOST_ARCH)-unknown-linux-musl
GNU := $(HOST_ARCH)-unknown-linux-gnu
# More flags for `make bench`.
BENCH ?=
# The most that the static binary may weigh: 2 MiB, with HTTP and without TLS.
STATIC_MAX := 2097152

.DEFAULT_GOAL := help
.PHONY: help build demo demo-python test test-javascript-sdk test-python-sdk conformance check proto proto-check static image bench clean

help: ## Show this list.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-19s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## Build the bridge: target/release/pmcp.
	$(CARGO) build --release --locked

demo: ## Watch a scripted host use a tool file in Rust, which changes under way.
	@$(CARGO) build --quiet --locked --bin pmcp --example demo-host
	@$(CARGO) run --quiet --locked --example demo-host -- rust

demo-python: ## The same with a tool file in Python and the SDK from PyPI.
	@$(CARGO) build --quiet --locked --bin pmcp --example demo-host
	@$(CARGO) run --quiet --locked --example demo-host -- python

test: ## Run all tests; names what it skips where Python 3 or Node.js is missing.
	sh tests/environments.sh
	rm -rf $(OUT)/transcripts
	PMCP_TRANSCRIPTS=$(abspath $(OUT))/transcripts $(CARGO) test --locked
	sh tests/schemas/check.sh $(OUT)/transcripts

test-javascript-sdk: ## Test the JavaScript SDK: alone, its types, and with hosts of both eras.
	cd sdk/javascript && npm ci --no-audit --no-fund && npm test
	PMCP_CONFORMANCE_FILE=sdk/javascript/examples/conformance.js $(CARGO) test --locked --test tests -- \
		javascript_sdk:: sdk_vectors:: both_eras::
	$(CARGO) build --quiet --locked --bin pmcp
	sh tests/conformance/run.sh stdio $(OUT)/debug/pmcp sdk/javascript/examples/conformance.js

conformance: ## Run the official conformance suite against examples/conformance.
	sh tests/environments.sh
	$(CARGO) build --quiet --locked --bin pmcp --example conformance
	sh tests/conformance/run.sh stdio $(OUT)/debug/pmcp $(OUT)/debug/examples/conformance
	sh tests/conformance/run.sh http $(OUT)/debug/pmcp $(OUT)/debug/examples/conformance

test-python-sdk: ## Test the Python SDK with every Python that is found.
	sh tests/environments.sh
	sh sdk/python/test.sh

check: proto-check ## Check format, lints, docs, the generated code, licences.
	$(CARGO) fmt --check
	$(CARGO) clippy --locked --all-targets --all-features -- -D warnings
	$(CARGO) clippy --locked --no-default-features -- -D warnings
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --locked --no-deps --document-private-items
	$(CARGO) test --locked --test tests -- tidy:: dependencies::

proto: ## Write src/wire/protomcp.rs anew from proto/protomcp.proto.
	$(CARGO) run --quiet --locked --manifest-path proto/generate/Cargo.toml \
		--target-dir $(OUT)/generate -- src/wire/protomcp.rs

proto-check: ## Fail if src/wire/protomcp.rs is not what `make proto` writes.
	@mkdir -p $(OUT)
	$(CARGO) run --quiet --locked --manifest-path proto/generate/Cargo.toml \
		--target-dir $(OUT)/generate -- $(OUT)/protomcp.rs
	diff -u src/wire/protomcp.rs $(OUT)/protomcp.rs

# musl if the target can be had, else glibc, which is larger and resolves names only with the
# machine's own glibc. A binary that needs an interpreter or a library is not static.
static: ## Build the static bridge: target/static/pmcp.
	@set -eu; \
	if [ -d "$$(rustc --print target-libdir --target $(MUSL) 2>/dev/null)" ] || rustup target add $(MUSL); then \
		target=$(MUSL); \
		$(CARGO) build --release --locked --target $(MUSL); \
	else \
		echo "the target $(MUSL) can't be had: a static binary with glibc instead"; \
		target=$(GNU); \
		RUSTFLAGS='-C target-feature=+crt-static' $(CARGO) build --release --locked --target $(GNU); \
	fi; \
	mkdir -p $(OUT)/static; \
	cp $(OUT)/$$target/release/pmcp $(OUT)/static/pmcp; \
	headers=$$(readelf --wide --program-headers --dynamic $(OUT)/static/pmcp); \
	if echo "$$headers" | grep -E 'INTERP|NEEDED'; then echo "$(OUT)/static/pmcp is not static"; exit 1; fi; \
	size=$$(wc -c < $(OUT)/static/pmcp); \
	echo "$(OUT)/static/pmcp: static, $$target, $$size bytes"; \
	if [ $$target = $(MUSL) ] && [ $$size -gt $(STATIC_MAX) ]; then \
		echo "that is more than $(STATIC_MAX) bytes"; exit 1; \
	fi

# The tool file of `make demo` stands for yours; it needs the SDK alone.
image: static ## Put what the container image holds side by side: target/static/pmcp and server.
	@set -eu; \
	if [ -d "$$(rustc --print target-libdir --target $(MUSL) 2>/dev/null)" ]; then target=$(MUSL); flags=; \
	else target=$(GNU); flags='-C target-feature=+crt-static'; fi; \
	RUSTFLAGS=$$flags $(CARGO) build --release --locked --no-default-features --example demo --target $$target; \
	cp $(OUT)/$$target/release/examples/demo $(OUT)/static/server

bench: static ## Measure the static bridge beside a do-nothing server and one without a bridge.
	$(CARGO) build --release --locked --manifest-path bench/Cargo.toml --target-dir $(OUT)/bench
	$(OUT)/bench/release/load --pmcp $(OUT)/static/pmcp --static $(OUT)/static/pmcp $(BENCH)

clean: ## Remove everything that was built.
	$(CARGO) clean
