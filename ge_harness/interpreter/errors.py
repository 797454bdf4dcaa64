"""What can go wrong while a graph is evaluated."""

from __future__ import annotations

from ge_harness.errors import HarnessError, UsageError


class EvaluationError(UsageError):
    """A graph, or what it was fed, that cannot be evaluated.

    Attributes:
        node: the node at fault, "" where it is the graph or the request.
    """

    def __init__(self, message: str, node: str = "") -> None:
        self.node = node
        super().__init__(message)


class UnknownOpError(EvaluationError):
    """An op the interpreter has no function for.

    Attributes:
        op: its type.
        nearest: the known op most like it, "" where none is close.
    """

    def __init__(self, op: str, node: str, nearest: str) -> None:
        self.op = op
        self.nearest = nearest
        hint = f" Did you mean {nearest!r}?" if nearest else ""
        super().__init__(
            f"cannot evaluate node {node!r}: the interpreter has no op {op!r}.{hint} "
            "To add it: docs/interpreter.md, 'Add an op'.", node)


class GraphRaisedError(HarnessError):
    """A check inside the graph failed, as it would have raised in TensorFlow.

    An outcome, not a fault of the request: one side raised. Exit status 1.

    Attributes:
        op: type of the node that raised ("CheckNumerics", "Assert" ...).
        node: its name.
        reason: what it said.
    """

    exit_code = 1

    def __init__(self, op: str, node: str, reason: str) -> None:
        self.op = op
        self.node = node
        self.reason = reason
        super().__init__(f"the graph raised: {op} node {node!r}: {reason}")
