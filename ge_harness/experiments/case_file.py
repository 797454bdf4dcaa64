"""Writes a counter-example as a graph file that `run` takes."""

from __future__ import annotations

from pathlib import Path
from typing import Mapping

import numpy as np

import graphs
from ge_harness.compare.dtypes import widen
from ge_harness.errors import UsageError
from ge_harness.experiment.store import RunFolder
from ge_harness.experiments import store
from ge_harness.experiments.bench import CaseSpec
from graphs.source import resolve

_MOST_VALUES = 200000
_HEAD = '''"""{doc}"""

from __future__ import annotations

from typing import Any

{imports}
from graphs.distribution import Values
from graphs.subgraph import Input

{chain}
INPUTS = (
{inputs})


def build(tf: Any, {names}) -> dict[str, Any]:
    """Return the outputs of {title}."""
    return {call}
'''


def write(folder: RunFolder, spec: CaseSpec, arrays: Mapping[str, np.ndarray],
          dtypes: Mapping[str, str], doc: str) -> Path:
    """Write one set of inputs with the subgraph that they go through.

    Args:
        folder: of the experiment; the file goes to `cases`.
        spec: the subgraph, with its variants and dtype.
        arrays: input -> storage [1, ...].
        dtypes: input -> its dtype.
        doc: docstring of the file; its first line says what it is.

    Returns:
        the file.
    """
    variants = _variants(spec)
    inputs = []
    for name, array in arrays.items():
        dtype = dtypes[name]
        numbers = widen(np.asarray(array[0]), dtype).ravel()[:_MOST_VALUES].tolist()
        shape = repr(tuple(int(axis) for axis in array.shape[1:]))
        text = ", ".join(_spelled(value) for value in numbers) or "0.0"
        inputs.append(f"    Input({name!r}, {shape}, {dtype!r}, distribution=Values((\n"
                      f"        {_wrapped(text)},))),\n")
    own = _shipped(spec.source)
    more = [f"{key}={value!r}" for key, value in variants] if own else [
        "**{name: values[0] for name, values in CHAIN.variants}"]
    call = ", ".join([*(f"{name}={name}" for name in arrays), *more])
    title = Path(spec.source).stem
    text = _HEAD.format(
        doc=doc.replace('"""', "'''").replace("\\", "/"), title=title,
        imports="import graphs" if own else
        "from graphs.source import load_subgraph, resolve",
        chain=f"CHAIN = graphs.load({spec.source!r})\n" if own else
        f"CHAIN = load_subgraph(resolve({str(Path(spec.source).resolve())!r}))\n",
        inputs="".join(inputs), names=", ".join(f"{name}: Any" for name in arrays),
        call=f"dict(CHAIN.build(tf, {call}))")
    return _kept(folder.path / "cases", doc, text)


def _kept(where: Path, doc: str, text: str) -> Path:
    """Write the file under a name that no other case has.

    Raises:
        UsageError: it cannot be written.
    """
    stem = store.safe(doc.split(":", 1)[-1].split("\n")[0].strip(" .")).lower()
    try:
        where.mkdir(exist_ok=True)
    except OSError as error:
        raise UsageError(f"{where}: cannot write there: {error.strerror}") from error
    number = 1
    while True:
        path = where / f"{stem.replace('-', '_')}_{number}.py"
        if not path.exists() or path.read_text(encoding="utf-8") == text:
            aside = path.with_name(f".{path.name}.part")
            aside.write_text(text, encoding="utf-8")
            aside.replace(path)
            return path
        number += 1


def _variants(spec: CaseSpec) -> list[tuple[str, object]]:
    """Return the variants of a shipped subgraph in full."""
    if not _shipped(spec.source):
        return []
    given = dict(spec.variants)
    return [(key, next((value for value in values if str(value) == given.get(key)),
                       values[0]))
            for key, values in graphs.load(spec.source).variants]


def _shipped(source: str) -> bool:
    return not resolve(source).path


def _spelled(value: float) -> str:
    if value != value:
        return 'float("nan")'
    if value in (float("inf"), float("-inf")):
        return f'float("{value}")'
    return repr(value)


def _wrapped(text: str) -> str:
    words, lines, line = text.split(", "), [], ""
    for word in words:
        if line and len(line) + len(word) > 76:
            lines.append(line.rstrip())
            line = ""
        line += f"{word}, "
    return "\n        ".join([*lines, line.rstrip(", ")])
