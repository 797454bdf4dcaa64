"""Test subgraphs, one a file, and what it takes to build one into a GraphDef.

`names` and `describe` import no graph file, no NumPy and no TensorFlow; `load` imports
one file. The file name is the subgraph's name.
"""

from __future__ import annotations

import ast
import difflib
import importlib
import pkgutil
from typing import TYPE_CHECKING

from graphs.errors import GraphError, GraphUnsupportedError

if TYPE_CHECKING:
    from graphs.subgraph import Subgraph

__all__ = ["GraphError", "GraphUnsupportedError", "describe", "load", "names"]

# Modules of this package that are no subgraph.
_MACHINERY = frozenset((
    "blocks", "build", "built", "cut", "distribution", "errors", "function",
    "graph_def", "inputs", "port_name", "portable", "refuse", "saved_model", "source",
    "subgraph"))


def names() -> tuple[str, ...]:
    """Return the names of the shipped subgraphs, sorted."""
    found = {module.name for module in pkgutil.iter_modules(__path__)}
    return tuple(sorted(found - _MACHINERY))


def describe(name: str) -> str:
    """Return the first line of a shipped subgraph's docstring.

    Raises:
        GraphError: no shipped subgraph has that name.
    """
    return docstring(name).split("\n")[0]


def docstring(name: str) -> str:
    """Return a shipped subgraph's docstring, read without importing its file.

    Raises:
        GraphError: no shipped subgraph has that name.
    """
    _check(name)
    text = pkgutil.get_data(__name__, f"{name}.py") or b""
    return ast.get_docstring(ast.parse(text)) or ""


def load(name: str) -> Subgraph:
    """Import a shipped subgraph and return its record.

    Raises:
        GraphError: no shipped subgraph has that name.
    """
    _check(name)
    from graphs.subgraph import from_module

    return from_module(importlib.import_module(f"{__name__}.{name}"), name)


def _check(name: str) -> None:
    known = names()
    if name in known:
        return
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise GraphError(f"no subgraph named {name!r}; known: {', '.join(known)}.{hint}",
                     subject=name, known=known)
