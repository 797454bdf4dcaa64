#!/usr/bin/env bash
# Runs the tests on one stack.
#
# Usage: scripts/test.sh [--python=3.7|3.9|3.11|...] [--core] [ARGUMENT of pytest ...]
# Makes its own virtual environment and installs into it. --core installs NumPy and absl
# alone and runs the tests that need no TensorFlow. Safe to repeat. See environment.sh for
# the variables it reads.
set -u
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$ROOT/scripts/environment.sh"

WANTED=
CORE=
while [ $# -gt 0 ]; do
  case $1 in
    --python=*) WANTED=${1#--python=} ;;
    --core) CORE=yes ;;
    *) break ;;
  esac
  shift
done

choose_python "$WANTED"
VERSION=$("$PYTHON" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
cd "$ROOT" || fail "cannot enter $ROOT"
if [ -n "$CORE" ]; then
  make_environment "core-$VERSION" test 400
  exec "$VENV_PYTHON" -m pytest -m 'not tf and not npu' "$@"
fi
make_environment "test-$VERSION" report,fast,tf,test 3500
exec "$VENV_PYTHON" -m pytest -m 'not npu' "$@"
