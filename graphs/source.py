"""Finds what the user means by SUBGRAPH: a shipped name, a file or a folder.

`resolve` only looks; it runs no graph file and imports no TensorFlow, so a parent
process may call it. `load_subgraph` runs the file and belongs in a worker.
"""

from __future__ import annotations

import ast
import difflib
import importlib.util
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import graphs
from graphs.errors import GraphError
from graphs.port_name import safe
from graphs.subgraph import Subgraph, from_module

SHIPPED, FILE, GRAPH_DEF, SAVED_MODEL = "shipped", "file", "graph_def", "saved_model"
# What running somebody's graph file can raise; the worker catches the rest.
RAISED = (ArithmeticError, AssertionError, AttributeError, ImportError, LookupError,
          NameError, OSError, RuntimeError, SyntaxError, TypeError, ValueError)
_SIGNS = ("saved_model.pb", "saved_model.pbtxt")


@dataclass(frozen=True)
class Source:
    """Where a subgraph comes from.

    Attributes:
        kind: `SHIPPED`, `FILE`, `GRAPH_DEF` or `SAVED_MODEL`.
        name: short and safe as a file name.
        path: the file or folder, "" for a shipped one.
        doc: docstring of a graph file, "" for the other kinds.
    """

    kind: str
    name: str
    path: str = ""
    doc: str = ""


def resolve(text: str) -> Source:
    """Find a subgraph.

    Args:
        text: a shipped name, FILE.py, FILE.pb, FILE.pbtxt or a SavedModel folder.

    Raises:
        GraphError: there is none, or the file cannot be read or parsed.
    """
    if text in graphs.names():
        return Source(SHIPPED, text, doc=graphs.docstring(text))
    path = Path(text)
    try:
        is_dir, is_file = bool(text) and path.is_dir(), path.is_file()
    except (OSError, ValueError):
        is_dir = is_file = False
    if is_dir:
        return _folder(path)
    if is_file:
        return _file(path)
    raise _nothing(text, path)


def load_subgraph(source: Source) -> Subgraph:
    """Import the graph file of a source and return its record.

    Runs the file's code.

    Raises:
        GraphError: it is no graph file, or importing it fails; names the line.
    """
    if source.kind == SHIPPED:
        return graphs.load(source.name)
    spec = importlib.util.spec_from_file_location(
        f"graph_file_{source.name.replace('.', '_')}", source.path)
    if spec is None or spec.loader is None:
        raise GraphError(f"{source.path}: cannot be imported", subject=source.path)
    module: ModuleType = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up there
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec.loader.exec_module(module)
    except RAISED as error:
        raise failed(source.path, error, "importing it") from error
    finally:
        sys.dont_write_bytecode = writes
    return from_module(module, source.name)


def failed(path: str, error: BaseException, doing: str) -> GraphError:
    """Return the one-line error for an exception out of somebody's graph file.

    Args:
        path: the file.
        error: what it raised.
        doing: what was being done.
    """
    line = 0
    for frame in traceback.extract_tb(error.__traceback__):
        if path and frame.filename == path:
            line = frame.lineno or 0
    place = f"{path}:{line}" if line else path
    return GraphError(f"{place}: {doing} raised {type(error).__name__}: "
                      f"{first_line(error)}", subject=path)


def first_line(error: BaseException) -> str:
    """Return the first line of an exception's text, at most 300 characters."""
    text = str(getattr(error, "message", "") or error).strip().split("\n")[0]
    return text if len(text) <= 300 else text[:300] + "..."


def _folder(path: Path) -> Source:
    if any((path / sign).is_file() for sign in _SIGNS):
        return Source(SAVED_MODEL, safe(path.resolve().name), str(path))
    raise GraphError(f"{path}: found a folder without saved_model.pb, expected a "
                     "SavedModel", subject=str(path))


def _file(path: Path) -> Source:
    suffix = path.suffix.lower()
    if path.name in _SIGNS:
        raise GraphError(f"{path}: found the inside of a SavedModel, expected its "
                         f"folder: give {str(path.parent)!r}", subject=str(path))
    if suffix in (".pb", ".pbtxt"):
        return Source(GRAPH_DEF, safe(path.stem), str(path))
    if suffix != ".py":
        raise GraphError(f"{path}: found a {suffix or 'nameless'} file, expected .py, "
                         ".pb, .pbtxt or a SavedModel folder", subject=str(path))
    return Source(FILE, safe(path.stem), str(path), _parse(path))


def _parse(path: Path) -> str:
    try:
        tree = ast.parse(path.read_bytes(), filename=str(path))
    except SyntaxError as error:
        raise GraphError(f"{path}:{error.lineno or 0}: not Python: {error.msg}",
                         subject=str(path)) from error
    except (RecursionError, MemoryError) as error:
        raise GraphError(f"{path}: cannot be read: nested too deep or too large",
                         subject=str(path)) from error
    except (OSError, ValueError) as error:
        raise GraphError(f"{path}: cannot be read: {first_line(error)}",
                         subject=str(path)) from error
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    if "build" not in names:
        raise GraphError(f"{path}: found no function 'build', expected a graph file; "
                         "see docs/graph_files.md", subject=str(path))
    return ast.get_docstring(tree) or ""


def _nothing(text: str, path: Path) -> GraphError:
    known = graphs.names()
    if path.suffix or "/" in text or "\\" in text:
        return GraphError(f"{text!r}: no such file or folder", subject=text)
    near = difflib.get_close_matches(text, known, n=1, cutoff=0.6)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return GraphError(
        f"no subgraph named {text!r}; known: {', '.join(known)}; or give FILE.py, "
        f"FILE.pb, FILE.pbtxt or a SavedModel folder.{hint}", subject=text, known=known)
