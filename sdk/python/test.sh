#!/bin/sh
# Tests the SDK with every Python from 3.9 up that is found ($PYTHON alone if that is set), and checks
# its types in the environment that tests/environments.sh makes.

set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
env=${PMCP_TEST_ENV:-$here/../../target/env}/python-sdk
cd "$here"

say() { printf 'python sdk: %s\n' "$*"; }

fits() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 9))' >/dev/null 2>&1; }

pythons=${PYTHON:-}
if [ -z "$pythons" ]; then
    for candidate in python3 python3.9 python3.10 python3.11 python3.12 python3.13 python3.14 \
        "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin/python3 "$env/bin/python"; do
        if fits "$candidate"; then
            # Each version once, and the one with pydantic.
            version=$("$candidate" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
            case " ${seen:-} $env/bin/python " in
            *" $version "*" $candidate "*) ;;
            *" $version "*) continue ;;
            esac
            seen="${seen:-} $version"
            pythons="$pythons $candidate"
        fi
    done
fi
if [ -z "$pythons" ]; then
    say 'skipping all: there is no Python from 3.9 up'
    [ "${CI:-}" != true ] && [ -z "${PMCP_REQUIRE_ALL:-}" ]
    exit
fi
for python in $pythons; do
    say "$("$python" --version) ($python)"
    "$python" -m unittest discover --top-level-directory . --start-directory tests
done

if [ -x "$env/bin/mypy" ]; then
    say 'mypy --strict'
    "$env/bin/mypy" --strict --cache-dir "$env/mypy" protomcp tests/typed.py
    say 'pyright'
    "$env/bin/pyright" --pythonpath "$env/bin/python" --pythonversion 3.9 protomcp tests/typed.py
else
    say "skipping the types: $env is absent; tests/environments.sh makes it"
    [ "${CI:-}" != true ] && [ -z "${PMCP_REQUIRE_ALL:-}" ]
fi
