"""Exit statuses of the command line, as users' scripts rely on them."""

from __future__ import annotations

OK = 0
DIFFERS = 1
USAGE = 2
UNAVAILABLE = 3
UNDECIDED = 4
INTERNAL = 70
