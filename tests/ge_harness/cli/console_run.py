"""Runs the command line in a process of its own, as a user does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def console(*words, cwd=None, timeout=300, env=None):
    """Return (status, stdout, stderr) of `python -m ge_harness WORDS`."""
    variables = {**os.environ, "PYTHONPATH": str(ROOT), **(env or {})}
    done = subprocess.run(
        [sys.executable, "-m", "ge_harness", *map(str, words)], cwd=str(cwd or ROOT),
        capture_output=True, text=True, timeout=timeout, env=variables)
    return done.returncode, done.stdout, done.stderr
