"""Checks inside the graph, and nodes that only order others."""

from __future__ import annotations

import numpy as np

from ge_harness.interpreter.call import Call, OpTable
from ge_harness.interpreter.errors import EvaluationError, GraphRaisedError
from ge_harness.interpreter.value import Tensor, is_float, values


def _nothing(call: Call) -> list[Tensor]:
    return []


def _unfed(call: Call) -> list[Tensor]:
    raise EvaluationError(f"placeholder {call.node.name!r} is not fed", call.node.name)


def _check_numerics(call: Call) -> list[Tensor]:
    tensor = call.inputs[0] if call.inputs else None
    call.need(tensor is not None and is_float(tensor.dtype), "not a float tensor")
    wide = values(tensor, "float64") if tensor is not None else np.zeros(0)
    found = [name for name, bad in (("NaN", np.isnan(wide)), ("Inf", np.isinf(wide)))
             if np.any(bad)]
    if found:
        message = call.text("message")
        raise GraphRaisedError(call.node.op, call.node.name, (
            f"{message} : " if message else "") + f"tensor had {' and '.join(found)}")
    return [call.moved(call.raw(0))]


def _assert(call: Call) -> list[Tensor]:
    if not np.all(call.raw(0)):
        raise GraphRaisedError(call.node.op, call.node.name, "assertion failed")
    return []


OPS: OpTable = {
    "NoOp": _nothing, "Assert": _assert, "CheckNumerics": _check_numerics,
    "CheckNumericsV2": _check_numerics, "Placeholder": _unfed, "PlaceholderV2": _unfed,
}
