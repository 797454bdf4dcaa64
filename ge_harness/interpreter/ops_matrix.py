"""Matrix products and Einsum."""

from __future__ import annotations

import numpy as np

from ge_harness.interpreter.call import Call, OpTable
from ge_harness.interpreter.value import Tensor


def _swap(x: np.ndarray) -> np.ndarray:
    return np.swapaxes(x, -1, -2)


def _multiply(call: Call, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    call.need(left.shape[-1] == right.shape[-2],
              f"shapes {list(left.shape)} and {list(right.shape)} do not fit")
    return call.policy.contract(call.node, left, right, call.dtype())


def _mat_mul(call: Call) -> list[Tensor]:
    left, right = call.load(0), call.load(1)
    call.need(left.ndim == 2 and right.ndim == 2,
              f"ranks {left.ndim} and {right.ndim}, expected 2 and 2")
    left = _swap(left) if call.attr("transpose_a", False) else left
    right = _swap(right) if call.attr("transpose_b", False) else right
    return [call.store(_multiply(call, left, right))]


def _batch_mat_mul(call: Call) -> list[Tensor]:
    left, right = call.load(0), call.load(1)
    call.need(left.ndim >= 2 and right.ndim >= 2,
              f"ranks {left.ndim} and {right.ndim}, expected at least 2")
    left = _swap(left) if call.attr("adj_x", False) else left
    right = _swap(right) if call.attr("adj_y", False) else right
    dtype = call.attr("Tout", call.dtype())
    return [call.store(_multiply(call, left, right), str(dtype))]


def _einsum(call: Call) -> list[Tensor]:
    equation = call.text("equation").replace(" ", "")
    call.need("->" in equation and equation.count("->") == 1,
              f"equation {equation!r} without '->'")
    left, result = equation.split("->")
    terms = left.split(",")
    call.need(len(terms) == len(call.inputs) and len(terms) in (1, 2),
              f"equation {equation!r} for {len(call.inputs)} inputs")
    arrays = [call.load(index) for index in range(len(terms))]
    terms, result = _spell_out(call, terms, result, arrays)
    if len(arrays) == 1:
        return [call.store(_one(call, terms[0], result, arrays[0]))]
    return [call.store(_two(call, terms, result, arrays))]


def _spell_out(call: Call, terms: list[str], result: str,
               arrays: list[np.ndarray]) -> tuple[list[str], str]:
    """Replace ellipses by labels of their own (Greek), aligned to the right."""
    ranks = [array.ndim - len(term.replace("...", ""))
             for term, array in zip(terms, arrays)]
    for term, rank in zip(terms, ranks):
        call.need(rank == 0 or (rank > 0 and "..." in term),
                  f"term {term!r} does not fit the rank of its input")
    widest = max(ranks)
    labels = "".join(chr(0x3B1 + i) for i in range(widest))
    spelled = [term.replace("...", labels[widest - rank:] if rank else "")
               for term, rank in zip(terms, ranks)]
    return spelled, result.replace("...", labels)


def _one(call: Call, term: str, result: str, x: np.ndarray) -> np.ndarray:
    x, term = _diagonal(x, term)
    lost = tuple(i for i, label in enumerate(term) if label not in result)
    if lost:
        x = call.policy.reduce(call.node, "sum", x, axes=lost, dtype=call.dtype())
        x = x.reshape([n for i, n in enumerate(x.shape) if i not in lost])
        term = "".join(label for label in term if label in result)
    call.need(sorted(term) == sorted(result), f"result {result!r} from {term!r}")
    return x.transpose([term.index(label) for label in result])


def _two(call: Call, terms: list[str], result: str,
         arrays: list[np.ndarray]) -> np.ndarray:
    """Bring both operands into batch, rows, columns and multiply matrices."""
    (x, a), (y, b) = (_diagonal(array, term) for array, term in zip(arrays, terms))
    x, a = _sum_away(call, x, a, b + result)
    y, b = _sum_away(call, y, b, a + result)
    batch = [label for label in a if label in b and label in result]
    inner = [label for label in a if label in b and label not in result]
    rows = [label for label in a if label not in b]
    columns = [label for label in b if label not in a]
    sizes = _sizes(call, (a, x), (b, y))
    x = _arrange(x, a, batch, rows + inner)
    y = _arrange(y, b, batch, inner + columns)
    lead = _lead(x, y, len(batch))
    x = x.reshape(
        list(x.shape[:len(batch)]) + [_size(sizes, rows), _size(sizes, inner)])
    y = y.reshape(
        list(y.shape[:len(batch)]) + [_size(sizes, inner), _size(sizes, columns)])
    product = _multiply(call, x, y).reshape(
        lead + [sizes[label] for label in rows + columns])
    order = batch + rows + columns
    call.need(sorted(order) == sorted(result), f"result {result!r} from {a!r}, {b!r}")
    return product.transpose([order.index(label) for label in result])


def _sizes(call: Call, *sides: tuple[str, np.ndarray]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for term, array in sides:
        for label, size in zip(term, array.shape):
            known = sizes.get(label, size)
            call.need(size == known or (1 in (size, known) and ord(label) > 0x3B0),
                      f"label {label!r} has sizes {known} and {size}")
            sizes[label] = max(size, known) if size and known else 0
    return sizes


def _lead(x: np.ndarray, y: np.ndarray, count: int) -> list[int]:
    return [b if a == 1 else a for a, b in zip(x.shape[:count], y.shape[:count])]


def _size(sizes: dict[str, int], labels: list[str]) -> int:
    size = 1
    for label in labels:
        size *= sizes[label]
    return size


def _arrange(x: np.ndarray, term: str, batch: list[str],
             rest: list[str]) -> np.ndarray:
    return x.transpose([term.index(label) for label in batch + rest])


def _sum_away(call: Call, x: np.ndarray, term: str,
              needed: str) -> tuple[np.ndarray, str]:
    lost = tuple(i for i, label in enumerate(term) if label not in needed)
    if not lost:
        return x, term
    x = call.policy.reduce(call.node, "sum", x, axes=lost, dtype=call.dtype())
    shape = [n for i, n in enumerate(x.shape) if i not in lost]
    return x.reshape(shape), "".join(c for c in term if c in needed)


def _diagonal(x: np.ndarray, term: str) -> tuple[np.ndarray, str]:
    """Take the diagonal of labels that a term repeats."""
    unique = "".join(dict.fromkeys(term))
    if unique == term:
        return x, term
    letters = {label: i for i, label in enumerate(unique)}
    subscripts = [letters[label] for label in term]
    return np.einsum(x, subscripts, [letters[c] for c in unique]), unique


OPS: OpTable = {
    "MatMul": _mat_mul, "BatchMatMul": _batch_mat_mul, "BatchMatMulV2": _batch_mat_mul,
    "BatchMatMulV3": _batch_mat_mul, "Einsum": _einsum,
}
