"""How fast operators are matched through two graphs: `compare --map --against-map`.

    python scripts/bench_compare_map.py --operators=2000

Makes a graph of so many fused operators of three original ones each, the graph of the
original ones, and a small dump file of every operator. Prints the time of each part,
the floor (opening and reading the same files once) and a naive match of every fused
operator with every original one, all on the same machine, so that ratios count.
Everything is measured a second time at half the size: linear time halves.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Callable, Sequence

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from dumps.data_names import escape  # noqa: E402 - the checkout comes first
from ge_harness.compare.operator_compare import (  # noqa: E402
    Places,
    Rules,
    compare_matches,
    match_places,
    read_graph,
)
from ge_harness.compare.operator_files import Entry, scan  # noqa: E402
from ge_harness.compare.operator_graph import OperatorGraph  # noqa: E402
from ge_harness.compare.operator_pairs import make_side, match_sides  # noqa: E402
from ge_harness.compare.standards import parse_standard  # noqa: E402
from tests.ge_harness.compare.operator_folders import dump, graph, op  # noqa: E402

ORIGINALS = 3
ELEMENTS = 64
REPEATS = 3


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--operators", type=int, default=2000)
    args = parser.parse_args()
    rows = []
    for count in (args.operators // 2, args.operators):
        with tempfile.TemporaryDirectory() as folder:
            rows.append(measure(make(Path(folder), count)))
    print(f"{'part':40} {args.operators // 2:>10} {args.operators:>10} {'ratio':>7}")
    for name in rows[0]:
        small, large = rows[0][name], rows[1][name]
        print(f"{name:40} {small:9.3f}s {large:9.3f}s {large / small:7.2f}")
    whole = rows[1]["match on top of reading"]
    print(f"matching takes {whole / rows[1]['floor: read every file']:.2f} times the "
          f"floor, and 1/{rows[1]['naive match'] / whole:.0f} of the naive match")
    return 0


def make(root: Path, count: int) -> Places:
    """Write both graphs and every dump file."""
    value = np.arange(ELEMENTS, dtype=np.float32)
    fused, single = [op("x", "Data")], [op("x", "Data")]
    last_a = last_b = "x"
    for number in range(count):
        names = [f"layer_{number}/op_{part}" for part in range(ORIGINALS)]
        name = f"autofuse_pointwise_{number}_Abs_Exp_Neg"
        fused.append(op(name, "AscBackend", [f"{last_a}:0"], originals=names,
                        origins=[(names[-1], 0)]))
        dump(root / "a", "AscBackend", name, [value], exact=False)
        last_a = name
        for each in names:
            single.append(op(each, "Abs", [f"{last_b}:0"], originals=[each],
                             origins=[(each, 0)]))
            dump(root / "b", "Abs", each, [value], exact=False)
            last_b = each
    return Places(root / "a", root / "b", None,
                  graph(root / "ge_proto_00000001_graph_1_Build.txt", fused),
                  graph(root / "ge_proto_00000002_graph_1_Build.txt", single))


def measure(places: Places) -> dict[str, float]:
    """Return seconds by part, the best of a few."""
    graphs = [read_graph(path) for path in (places.map, places.against_map)]
    scans = [scan(place) for place in (places.a, places.b)]
    entries = [each.entries for each in scans]
    whole = match_places(places)
    rules = Rules((parse_standard("bits"),))

    def match() -> None:
        sides = [make_side(word, OperatorGraph(tree, held), held)
                 for word, tree, held in zip("ab", graphs, entries)]
        match_sides(*sides)

    def read_graphs() -> None:
        for path in (places.map, places.against_map):
            tree = read_graph(path)
            for _, node in tree.walk() if tree else ():
                assert [dict(desc.attributes) for desc in node.output_descs]

    assert len(whole.matches) == len(scans[0].entries)
    return {
        "floor: read every file": best(lambda: [
            path.read_bytes() for side in (places.a, places.b)
            for path in side.iterdir()]),
        "read both graphs": best(read_graphs),
        "read the headers of every dump": best(lambda: [
            scan(place) for place in (places.a, places.b)]),
        "match on top of reading": best(match),
        "compare every pair": best(lambda: compare_matches(whole, rules)),
        "naive match": best(lambda: naive(graphs, entries), 1),
    }


def naive(graphs: Sequence[object], entries: Sequence[Sequence[Entry]]) -> int:
    """Match as a search per operator does: every file is looked at for every one."""
    found = 0
    for node in graphs[0].nodes:  # type: ignore[attr-defined]
        for desc in node.output_descs:
            origin = escape(str(desc.attributes.get("_datadump_origin_name", "")))
            mine = [entry for entry in entries[0] if entry.op_name == escape(node.name)]
            theirs = [entry for entry in entries[1] if entry.op_name == origin]
            found += len(list(zip(mine, theirs)))
    return found


def best(call: Callable[[], object], repeats: int = REPEATS) -> float:
    """Return the least processor time of a few calls, in seconds."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        seconds.append(time.process_time() - start)
    return min(seconds)


if __name__ == "__main__":
    sys.exit(main())
