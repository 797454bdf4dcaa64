"""The check that every reader's mutation test makes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Callable

from dumps import DumpError, DumpGraph
from tests.dumps import mutate

GRAPHS = Path(__file__).resolve().parents[1] / "data" / "dumps" / "graphs"
_LIMIT_S = 5.0


def survive(parse: Callable[[bytes, object], DumpGraph], data: bytes,
            count: int, seed: int = 1) -> None:
    """Read damaged copies: a graph or a DumpError, quickly, and details as well."""
    for number, (name, damaged) in enumerate(mutate.mutations(data, seed, count)):
        start = time.perf_counter()
        try:
            graph = parse(damaged, "damaged")
            graph.load_details()
            assert all(warning.message.isprintable() for warning in graph.warnings)
            text = graph.path
        except DumpError as error:
            text = str(error)
        assert "\n" not in text
        taken = time.perf_counter() - start
        assert taken < _LIMIT_S, f"mutation {number} ({name}) took {taken:.1f} s"
