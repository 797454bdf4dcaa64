"""The graphs before and after TensorFlow's own optimizers, counted and kept as JSON."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, Callable, Iterable, Sequence

# What every session adds, whatever its optimizers do.
_PLUMBING = frozenset(("_Arg", "_Retval", "_Send", "_Recv", "_HostSend", "_HostRecv",
                       "Placeholder", "Const", "NoOp", "Identity"))


class Watch:
    """Sees one execution and writes what was run.

    Attributes:
        path: JSON with "before" and "after", each op -> number of nodes.
        done: it has seen its execution.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.done = False

    def function(self, call: Callable[[], Any]) -> Any:
        """Make a call of a `tf.function` and keep its graphs."""
        from tensorflow.python.eager import context

        context.context().enable_run_metadata()
        try:
            found = call()
        finally:
            metadata = context.context().export_run_metadata()
            context.context().disable_run_metadata()
        self.done = True
        # The largest is the step; other functions are helpers of single ops.
        main = max(metadata.function_graphs, default=None,
                   key=lambda graphs: len(graphs.pre_optimization_graph.node))
        if main is not None:
            self._write(main.pre_optimization_graph.node,
                        main.post_optimization_graph.node)
        return found

    def session(self, tf: Any, graph: Any, fetched: Sequence[str], metadata: Any
                ) -> None:
        """Keep the graph a session was given and what it executed."""
        self.done = True
        given = tf.compat.v1.graph_util.extract_sub_graph(
            graph.as_graph_def(), list(fetched))
        self._write(given.node, [
            node for part in metadata.partition_graphs for node in part.node])

    def _write(self, before: Iterable[Any], after: Iterable[Any]) -> None:
        counts = {"before": _count(before), "after": _count(after)}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(counts, sort_keys=True), encoding="utf-8")


def _count(nodes: Iterable[Any]) -> dict[str, int]:
    return dict(Counter(node.op for node in nodes if node.op not in _PLUMBING))
