"""Runs one function of the graph alone on the candidate's backend.

Nobody's tanh has another's last bit. Instead of a model of each compiler's functions
their own kernels are run on the very arguments: in the graph's dtype, where a table of
all 65,536 values needs one run, or in float32, where the fused kernel reads an argument
that was never rounded.
"""

from __future__ import annotations

import dataclasses
import hashlib
from pathlib import Path
from typing import Sequence

import numpy as np

from dumps import graphdef
from dumps.graphdef import AttrValue, GraphDef, NodeDef
from ge_harness.explain.arithmetic import as_dtype
from ge_harness.explain.policy import AXES
from ge_harness.interpreter.value import Tensor, rounded, values
from ge_harness.records.run import Mode, RunRequest, RunSuccess
from ge_harness.records.tensor import Case, Port, TensorSpec
from ge_harness.worker import launch

MAX_RUNS = 40
_WIDE = ("float16", "bfloat16")
# A kernel works on vectors and leaves a tail to scalar code; a length that no vector
# width fails to divide keeps every argument in the body.
_MULTIPLE = 1024


class KernelLimitError(Exception):
    """No more runs are allowed, or the backend does not run this function."""


class Kernels:
    """Single functions on one backend, each set of arguments run once.

    Args:
        request: the candidate's, whose backend and switches are used.
        job_root: folder for the jobs and their files.
        max_runs: greatest number of runs.
    """

    def __init__(self, request: RunRequest, job_root: Path,
                 max_runs: int = MAX_RUNS) -> None:
        self._request = request
        self._root = Path(job_root)
        self._limit = max_runs
        self._tables: dict[str, np.ndarray] = {}
        self._failed: set[str] = set()
        self.runs = 0

    def __call__(self, node: NodeDef, dtype: str,
                 arrays: Sequence[np.ndarray]) -> np.ndarray:
        """Return the function of float32 values, worked out in `dtype`.

        Args:
            node: what to run; its attributes are kept, but for the dtype.
            dtype: "float16", "bfloat16" or "float32"; the values are exact in it.
            arrays: the operands, float32.

        Returns:
            [...] float32, exact in `dtype`.

        Raises:
            KernelLimitError: nothing can be run.
        """
        if dtype in _WIDE and len(arrays) == 1 and node.op != "Sum":
            bits = rounded(arrays[0], dtype).view(np.uint16)
            return self._table(node, dtype)[bits]
        digest = hashlib.sha256(b"".join(
            np.ascontiguousarray(array).tobytes() for array in arrays)).hexdigest()
        shapes = " ".join(str(array.shape) for array in arrays)
        key = f"{self._name(node, dtype)} {shapes} {digest}"
        if key not in self._tables:
            mapped = len(arrays) == 1 and node.op != "Sum"
            self._tables[key] = (self._mapped(node, dtype, arrays[0]) if mapped
                                 else self._run(node, dtype, arrays))
        return self._tables[key]

    def _table(self, node: NodeDef, dtype: str) -> np.ndarray:
        """Return [65536] float32: the function of every value of a 16-bit dtype."""
        key = self._name(node, dtype)
        if key not in self._tables:
            bits = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16)
            stored = bits if dtype == "bfloat16" else bits.view(np.float16)
            self._tables[key] = self._mapped(
                node, dtype, values(Tensor(stored, dtype), "float32"))
        return self._tables[key]

    def _mapped(self, node: NodeDef, dtype: str, array: np.ndarray) -> np.ndarray:
        """Run a function of one tensor on a vector without a tail."""
        flat = array.reshape(-1)
        padded = np.ones(-(-max(flat.size, 1) // _MULTIPLE) * _MULTIPLE, np.float32)
        padded[:flat.size] = flat
        found = self._run(node, dtype, [padded])
        return np.asarray(found[:flat.size].reshape(array.shape))

    @staticmethod
    def _name(node: NodeDef, dtype: str) -> str:
        attrs = ", ".join(f"{key}={value.value!r}" for key, value in node.attrs
                          if key != "T" and not key.startswith("_"))
        return f"{node.op} {dtype} {attrs}"

    def _run(self, node: NodeDef, dtype: str,
             arrays: Sequence[np.ndarray]) -> np.ndarray:
        name = self._name(node, dtype)
        if name in self._failed or self.runs >= self._limit:
            raise KernelLimitError(name)
        self.runs += 1
        folder = self._root / f"kernel-{self.runs:03d}"
        folder.mkdir(parents=True, exist_ok=True)
        case = _write_case(node, dtype, arrays, folder)
        request = dataclasses.replace(
            self._request, case=case, mode=Mode.WHOLE, want_dumps=False)
        outcome = launch.launch([request], folder)[0]
        if not isinstance(outcome, RunSuccess) or not outcome.repeatable:
            self._failed.add(name)
            raise KernelLimitError(name)
        stored = np.load(outcome.output_paths[0], allow_pickle=False)
        return values(Tensor(stored, dtype), "float32")


def _write_case(node: NodeDef, dtype: str, arrays: Sequence[np.ndarray],
                folder: Path) -> Case:
    """Write graph and inputs of one node, its operands being placeholders."""
    kind = AttrValue("type", dtype)
    ports, paths, nodes = [], [], []
    for index, array in enumerate(arrays):
        name = f"x{index}"
        nodes.append(NodeDef(name, "Placeholder", (), "", (
            ("dtype", kind), ("shape", AttrValue("shape", tuple(array.shape))))))
        ports.append(Port(TensorSpec(name, tuple(array.shape), dtype), f"{name}:0"))
        paths.append(str(folder / f"{name}.npy"))
        np.save(paths[-1], rounded(as_dtype(array, dtype), dtype), allow_pickle=False)
    attrs = [(key, value) for key, value in node.attrs
             if key not in ("T", AXES) and not key.startswith("_")]
    inputs = [port.spec.name for port in ports]
    shape = arrays[0].shape
    if node.op == "Sum":
        axes = [item.value for item in node.attr(AXES)]
        shape = tuple(1 if i in axes else n for i, n in enumerate(shape))
        value = graphdef.tensor_value(np.array(axes, np.int32), "int32")
        nodes.append(NodeDef(AXES, "Const", (), "", (
            ("dtype", AttrValue("type", "int32")),
            ("value", AttrValue("tensor", value)))))
        inputs.append(AXES)
    nodes.append(NodeDef("y", node.op, tuple(inputs), "",
                         tuple(sorted((*attrs, ("T", kind))))))
    graph_path = folder / "graph.pb"
    graphdef.write(GraphDef(tuple(nodes)), graph_path)
    if len(arrays) == 2:
        shape = _product_shape(node, arrays)
    return Case(
        subgraph=f"kernel {node.op}", variant=dtype, seed=0,
        graph_path=str(graph_path), inputs=tuple(ports),
        outputs=(Port(TensorSpec("y", tuple(shape), dtype), "y:0"),),
        input_paths=tuple(paths))


def _product_shape(node: NodeDef, arrays: Sequence[np.ndarray]) -> tuple[int, ...]:
    """Return the shape of a product of matrices."""
    left, right = arrays
    turned = [node.attr(f"transpose_{'ab'[i]}", node.attr(f"adj_{'xy'[i]}", False))
              for i in (0, 1)]
    batch = np.broadcast(left[..., 0, 0], right[..., 0, 0]).shape
    return (*batch, left.shape[-1 if turned[0] else -2],
            right.shape[-2 if turned[1] else -1])
