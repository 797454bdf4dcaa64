"""The version of the distribution."""

from __future__ import annotations

VERSION = "0.1.0"
