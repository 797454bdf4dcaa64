"""Where the real dump files lie, and the skip for a clone that has none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[1]
_CANDIDATE = Path(os.environ.get("GE_HARNESS_SHARED", str(_ROOT.parent / "shared")))
SHARED = _CANDIDATE if (_CANDIDATE / "samples").is_dir() else None
SAMPLES = SHARED / "samples" if SHARED else None

needs_shared = pytest.mark.skipif(
    SHARED is None, reason="the folder of real dump files (../shared) is not here")
