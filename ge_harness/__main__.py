"""Hands over to the command line: `python -m ge_harness COMMAND ...`."""

from __future__ import annotations

import sys

_NEEDED = ("absl", "numpy")

try:
    from ge_harness.cli.main import main
except ModuleNotFoundError as error:
    if error.name not in _NEEDED:
        raise
    sys.stderr.write(
        f"ge_harness: {sys.executable} has no package {error.name!r}; use the Python "
        "of an environment that has it (scripts/run.sh makes .venv/run-*/bin/python), "
        "or 'pip install .' in the checkout\n")
    sys.exit(3)

if __name__ == "__main__":
    main()
