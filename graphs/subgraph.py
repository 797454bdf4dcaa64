"""The record that a graph file fills in, and the check that it did.

A graph file is a Python module with a docstring, `INPUTS` and `build`; `CLAIMS`,
`TARGETS`, `VARIANTS` and `SHAPES` are optional. docs/graph_files.md explains each and
docs/template_graph.py is one to copy. This module needs neither NumPy nor TensorFlow.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Callable, Mapping, NoReturn

from graphs.distribution import KINDS, STANDARD, Distribution, Values
from graphs.errors import GraphError

FLOATS = ("float16", "bfloat16", "float32")
DTYPES = FLOATS + (
    "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "bool")
ROLES = ("data", "weight", "scalar")
CLAIMS = ("A", "B", "C1", "C2", "C3", "D", "E", "S")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Input:
    """One input of a subgraph.

    Attributes:
        name: parameter of `build` that it is handed to; also its placeholder's name.
        desk: shape at desk size, quick on a laptop.
        dtypes: what it may be. One name: it is always that. Several: it follows
            the dtype asked for; the first is the default.
        paper: shape at paper size; None where it is the desk shape.
        distribution: what its numbers look like.
        role: "data", "weight" or "scalar".
        when: ("variant", "value"): it is there only for this value; () always.
    """

    name: str
    desk: tuple[int, ...]
    dtypes: str | tuple[str, ...] = FLOATS
    paper: tuple[int, ...] | None = None
    distribution: Distribution = STANDARD
    role: str = "data"
    when: tuple[str, ...] = ()

    @property
    def choices(self) -> tuple[str, ...]:
        """The dtypes it may be, as a tuple."""
        return (self.dtypes,) if isinstance(self.dtypes, str) else tuple(self.dtypes)


@dataclass(frozen=True)
class Subgraph:
    """A graph file, read and checked.

    Attributes:
        name: its file's name.
        path: the file.
        doc: its docstring.
        inputs: every input, those of other variants too.
        claims: experiments it serves, of `CLAIMS`.
        targets: passes that it should provoke, spelled as the compiler spells them.
        variants: (name, values) pairs; the first value is the default.
        shapes: (label, ((input, shape), ...)) pairs: more sizes worth trying.
        build: `build(tf, **inputs, **variants) -> {"output": tensor}`.
    """

    name: str
    path: str
    doc: str
    inputs: tuple[Input, ...]
    claims: tuple[str, ...]
    targets: tuple[str, ...]
    variants: tuple[tuple[str, tuple[Any, ...]], ...]
    shapes: tuple[tuple[str, tuple[tuple[str, tuple[int, ...]], ...]], ...]
    build: Callable[..., Mapping[str, Any]]

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The dtypes that may be asked for, the default first."""
        several = [i.choices for i in self.inputs if len(i.choices) > 1]
        if not several:
            return self.inputs[0].choices[:1] if self.inputs else FLOATS[-1:]
        rest = several[1:]
        return tuple(d for d in several[0] if all(d in other for other in rest))

    @property
    def summary(self) -> str:
        """The first line of the docstring."""
        return self.doc.strip().split("\n")[0]


def from_module(module: Any, name: str) -> Subgraph:
    """Read the record out of an imported graph file.

    Args:
        module: the module.
        name: what the subgraph is called.

    Raises:
        GraphError: a part is missing or is not what it should be; names file and part.
    """
    path = str(getattr(module, "__file__", "") or name)
    doc = (module.__doc__ or "").strip()
    if not doc:
        _refuse(path, "docstring", "none", "one that gives the chain in its first line")
    build = getattr(module, "build", None)
    if not callable(build):
        _refuse(path, "build", _shown(build), "def build(tf, ...) -> {'y': tensor}")
    inputs = getattr(module, "INPUTS", None)
    if not isinstance(inputs, (tuple, list)) or not all(
            isinstance(item, Input) for item in inputs):
        _refuse(path, "INPUTS", _shown(inputs), "a tuple of graphs.subgraph.Input")
    variants = _variants(path, getattr(module, "VARIANTS", {}))
    _check_inputs(path, tuple(inputs or ()), dict(variants))
    return Subgraph(
        name=name, path=path, doc=doc, inputs=tuple(inputs or ()),
        claims=_names(path, "CLAIMS", getattr(module, "CLAIMS", ()), CLAIMS),
        targets=_names(path, "TARGETS", getattr(module, "TARGETS", ()), ()),
        variants=variants, build=build,
        shapes=_shapes(path, getattr(module, "SHAPES", {}), inputs))


def _check_inputs(path: str, inputs: tuple[Input, ...], variants: Mapping[str, Any]
                  ) -> None:
    seen: set[str] = set()
    for item in inputs:
        where = f"INPUTS {item.name!r}"
        if not isinstance(item.name, str) or not _NAME.fullmatch(item.name):
            _refuse(path, where, repr(item.name), "a name of letters, digits and _")
        if item.name in seen or item.name in variants or item.name == "tf":
            _refuse(path, where, "the name twice", "another name")
        seen.add(item.name)
        for shape in (item.desk, item.paper):
            if shape is not None and not _is_shape(shape):
                _refuse(path, where, f"shape {shape!r}", "a tuple of lengths")
        for dtype in item.choices:
            if dtype not in DTYPES:
                _refuse(path, where, f"dtype {dtype!r}", " or ".join(DTYPES))
        if not item.choices or not isinstance(item.distribution, KINDS):
            _refuse(path, where, _shown(item.distribution),
                    "a dtype and a distribution of graphs.distribution")
        if isinstance(item.distribution, Values) and not item.distribution.numbers:
            _refuse(path, where, "no values", "at least one number")
        if item.role not in ROLES:
            _refuse(path, where, f"role {item.role!r}", " or ".join(ROLES))
        if item.when and (len(item.when) != 2 or item.when[1] not in map(
                str, variants.get(item.when[0], ()))):
            _refuse(path, where, f"when {item.when!r}",
                    "a variant and one of its values")


def _variants(path: str, given: Any) -> tuple[tuple[str, tuple[Any, ...]], ...]:
    if not isinstance(given, dict):
        _refuse(path, "VARIANTS", _shown(given), "a dict of name: (value, ...)")
    for name, values in given.items():
        if not isinstance(values, (tuple, list)) or not values or not all(
                isinstance(value, (str, int)) for value in values):
            _refuse(path, f"VARIANTS {name!r}", _shown(values),
                    "a tuple of strings or whole numbers")
    return tuple((str(name), tuple(values)) for name, values in given.items())


def _shapes(path: str, given: Any, inputs: Any) -> tuple[
        tuple[str, tuple[tuple[str, tuple[int, ...]], ...]], ...]:
    if not isinstance(given, dict):
        _refuse(path, "SHAPES", _shown(given), "a dict of label: {input: shape}")
    names = [item.name for item in inputs]
    for label, shapes in given.items():
        if not isinstance(shapes, dict) or not all(
                name in names and _is_shape(shape) for name, shape in shapes.items()):
            _refuse(path, f"SHAPES {label!r}", _shown(shapes), "{input: shape}")
    return tuple((str(label), tuple(shapes.items())) for label, shapes in given.items())


def _names(path: str, part: str, given: Any, known: tuple[str, ...]) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, (tuple, list)):
        _refuse(path, part, _shown(given), "a tuple of names")
    for name in given:
        if not isinstance(name, str) or (known and name not in known):
            _refuse(path, part, repr(name), "a tuple of " + (
                ", ".join(known) if known else "names"))
    return tuple(given)


def _is_shape(shape: Any) -> bool:
    return isinstance(shape, (tuple, list)) and all(
        isinstance(axis, int) and axis >= 0 for axis in shape)


def _shown(value: Any) -> str:
    return "none" if value is None else type(value).__name__


def _refuse(path: str, part: str, found: str, expected: str) -> NoReturn:
    raise GraphError(f"{path}: {part}: found {found}, expected {expected}; see "
                     "docs/graph_files.md", subject=part)
