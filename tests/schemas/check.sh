#!/bin/sh
# Holds what the bridge said in the tests (`PMCP_TRANSCRIPTS`) against the schemas of the protocol:
# check.sh TRANSCRIPTS. Skipped, aloud, where tests/environments.sh could not make what it needs.

set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
env=${PMCP_TEST_ENV:-$here/../../target/env}

if ! [ -d "$1" ]; then
    echo "schemas: $1 is not there: run the tests with PMCP_TRANSCRIPTS=$1"
    exit 1
fi
if [ -d "$env/schemas/revisions" ]; then
    exec node "$here/check.mjs" "$env/schemas" "$1" --complete
fi
echo 'schemas: SKIPPED, for tests/environments.sh did not make their environment'
[ "${CI:-}" != true ] && [ -z "${PMCP_REQUIRE_ALL:-}" ]
