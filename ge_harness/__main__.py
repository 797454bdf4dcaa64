"""Hands over to the command line: `python -m ge_harness COMMAND ...`."""

from __future__ import annotations

from ge_harness.cli.main import main

if __name__ == "__main__":
    main()
