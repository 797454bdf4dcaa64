"""The proof that a graph ran under GE and not, without a word, on the host CPU.

Two things prove it: a GeOp in the graph that TensorFlow says it executed, or dumps that
GE wrote since the session began, into a folder nobody else writes to.

Source: reference: tf_adapter.md sections 0 (3), 4.8 and 11.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Iterable

from dumps import names
from ge_harness.backends.base import BackendFailure
from ge_harness.records.run import FailureKind

_GE_FORMATS = ("ge_proto", "ge_onnx", "readable")
# Ops that stay on the host without taking work away from GE.
_ON_HOST = frozenset(("Const", "Identity", "NoOp", "Placeholder", "Snapshot"))
_MOST_NAMED = 8


class OffloadProof:
    """Watches the first execution of each graph.

    Attributes:
        by_partition: how many graphs a GeOp proved.
        by_dumps: how many only GE's dumps proved.
    """

    def __init__(self, dumps_dir: Path) -> None:
        self._dir = dumps_dir
        self._seen = count_dumps(dumps_dir)
        self.by_partition = 0
        self.by_dumps = 0

    def check(self, what: str, metadata: Any, expected: Iterable[tuple[str, str]]
              ) -> None:
        """Hold one first execution against what should have left the host.

        Args:
            what: the graph in words, for the message.
            metadata: the RunMetadata of the execution, with its partition graphs.
            expected: (name, op) of the nodes that GE was given.

        Raises:
            BackendFailure: nothing proves that GE ran it, or a part stayed behind.
        """
        nodes = [(node.name, node.op) for graph in metadata.partition_graphs
                 for node in graph.node]
        dumped = count_dumps(self._dir)
        new, self._seen = dumped - self._seen, dumped
        has_op = any(op == "GeOp" for _, op in nodes)
        if not has_op and new <= 0:
            raise BackendFailure(FailureKind.NOT_OFFLOADED, (
                f"{what} ran on the host CPU: the executed graph holds no GeOp and GE "
                "wrote no dump. The plugin is inactive, or it does not support the "
                "ops; nothing is compared"))
        if has_op:
            self.by_partition += 1
            self._refuse_part(what, nodes, expected)
        else:
            self.by_dumps += 1

    def notes(self) -> tuple[str, ...]:
        """Return how the offload was proved."""
        total = self.by_partition + self.by_dumps
        if not total:
            return ()
        found = []
        if self.by_partition:
            found.append(f"a GeOp in the executed graph of {self.by_partition}")
        if self.by_dumps:
            found.append(f"dumps of GE alone for {self.by_dumps} (the executed graph "
                         "showed no GeOp)")
        graphs = "graph" if total == 1 else "graphs"
        return (f"offload proved for {total} {graphs}: {', '.join(found)}",)

    def _refuse_part(self, what: str, nodes: Iterable[tuple[str, str]],
                     expected: Iterable[tuple[str, str]]) -> None:
        there = set(nodes)
        left = [f"{name} ({op})" for name, op in expected
                if op not in _ON_HOST and (name, op) in there]
        if left:
            more = f" and {len(left) - _MOST_NAMED} more" if len(
                left) > _MOST_NAMED else ""
            raise BackendFailure(FailureKind.NOT_OFFLOADED, (
                f"{what} ran in part on the host CPU, which would mix two machines in "
                f"one result: {', '.join(left[:_MOST_NAMED])}{more} did not go to GE"))


def count_dumps(folder: Path) -> int:
    """Return how many graph dumps of GE lie below a folder."""
    try:
        return sum(1 for path in folder.rglob("ge_*") if _is_dump(path))
    except OSError:
        return 0


def _is_dump(path: Path) -> bool:
    parsed = names.parse(path)
    return parsed is not None and parsed.format in _GE_FORMATS and path.is_file()
