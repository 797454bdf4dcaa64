#!/usr/bin/env bash
# The main job: runs every shipped subgraph at desk size on every backend usable here.
#
# Usage: scripts/run.sh [OPTION of 'ge_harness run' ...]
# Makes its own virtual environment, installs into it, runs, prints the verdict table and
# where the HTML report is. Safe to repeat. See environment.sh for the variables it reads.
set -u
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$ROOT/scripts/environment.sh"

choose_python ""
VERSION=$("$PYTHON" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
make_environment "run-$VERSION" report,tf 3000
cd "$ROOT" || fail "cannot enter $ROOT"
exec "$VENV_PYTHON" -m ge_harness run all "$@"
