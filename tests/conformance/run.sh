#!/bin/sh
# The official conformance suite against the bridge and examples/conformance:
#     run.sh stdio PMCP TOOL      over pipes, behind an HTTP face (shim.py)
#     run.sh http PMCP TOOL       over HTTP
# TOOL is the tool file's program. Skipped, aloud, where tests/environments.sh could not make what it
# needs: the suite runs on Node.js 22 or later, which comes as a package with it.

set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
env=${PMCP_TEST_ENV:-$here/../../target/env}/schemas
suite=$env/node_modules/@modelcontextprotocol/conformance/dist/index.js

node=''
for candidate in "$env"/node_modules/node-linux-*/bin/node node; do
    if version=$("$candidate" --version 2>/dev/null) && [ "$(echo "${version#v}" | cut -d. -f1)" -ge 22 ]; then
        node=$candidate
        break
    fi
done
if [ -z "$node" ] || ! [ -f "$suite" ] || ! command -v python3 >/dev/null; then
    echo 'conformance: SKIPPED, for tests/environments.sh did not make its environment'
    [ "${CI:-}" != true ] && [ -z "${PMCP_REQUIRE_ALL:-}" ]
    exit
fi

work=$(mktemp -d)
server=''
trap 'if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi; rm -rf "$work"' EXIT

# start COMMAND...: runs a server that says its URL in the first line.
start() {
    mkfifo "$work/said"
    "$@" >"$work/said" 2>"$work/stderr" &
    server=$!
    read -r url <"$work/said"
    url=${url#listening on }
}

# fail: shows what the suite and the server had to say.
fail() {
    sed -n '/=== SUMMARY/,$p' "$work/log"
    tail -n 20 "$work/stderr"
    exit 1
}

# check FLAGS...: runs the suite's scenarios.
check() {
    printf 'conformance: %s over %s\n' "$2" "$way"
    "$node" "$suite" server --url "$url" "$@" -o "$work/results" >"$work/log" 2>&1 || fail
    grep '^Total:' "$work/log"
}

way=$1
case $way in
stdio)
    start python3 "$here/shim.py" 0 "$2" run "$3"
    check --requirements 2025-11-25 --expected-failures "$here/stdio-2025-11-25.yml"
    check --requirements 2026-07-28 --expected-failures "$here/stdio-2026-07-28.yml"
    ;;
http)
    # Streams that are broken off again and again, so that the suite sees them resumed.
    start "$2" run "$3" --port 0 --stream-time 300ms
    check --requirements 2025-11-25
    check --requirements 2026-07-28
    check --suite all
    # What is not scored must not fail either.
    if grep -q '"status": "FAILURE"' "$work"/results/*/checks.json; then
        grep -l '"status": "FAILURE"' "$work"/results/*/checks.json
        fail
    fi
    ;;
*)
    echo "conformance: unknown way $way"
    exit 2
    ;;
esac
