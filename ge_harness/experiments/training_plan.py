"""What E trains on and with which numbers: corpus, model, schedule, estimate."""

from __future__ import annotations

import dataclasses
import hashlib
import platform
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ge_harness.errors import UnknownNameError, UsageError
from ge_harness.experiment.options import RunOptions
from ge_harness.records.training import TrainingConfig

SEEDS = 3
"""Eager runs with different seeds, the least that a verdict needs."""

STEPS_IN_ALL = 200
"""Steps of E inside `experiment all`."""

# Library source that is taken, and text of a user that is read, at most.
_LIBRARY_BYTES = 2 << 20
_MOST_BYTES = 1 << 30
_EVAL_SHARE = 0.1
_DESK = TrainingConfig()
# GPT-2 small: 124,439,808 weights. Batch and sequence are what two cores can do.
_PAPER = TrainingConfig(
    layers=12, width=768, heads=12, sequence=256, batch=2, vocabulary=50257,
    positions=1024, learning_rate=6e-4, eval_batches=2, checkpoint_every=50)
_WHOLE = ("steps", "layers", "width", "heads", "sequence", "batch", "vocabulary",
          "sample_every", "checkpoint_every", "eval_batches")
# Two cores: multiply-adds a second, and memory a weight at the peak of a step (weights,
# both moments, gradients, the next state). Measured: docs/experiment_e.md.
_SPEED, _BYTES_A_WEIGHT, _BASE_BYTES = 20e9, 55, 0.7e9


@dataclass(frozen=True)
class Corpus:
    """The text as bytes on disk.

    Attributes:
        path: .npy, [bytes] uint8.
        sha256: of the bytes.
        size_bytes: how many.
        words: where it comes from.
    """

    path: str
    sha256: str
    size_bytes: int
    words: str


def asked(options: RunOptions, text_path: str, steps: int, *, in_all: bool
          ) -> RunOptions:
    """Return the options of E with the command line's own wishes among the variants.

    Args:
        options: of the call.
        text_path: the corpus, "" for the standard library's source.
        steps: of training, 0 for the default.
        in_all: E is one of all experiments.
    """
    given = dict(options.variants)
    if text_path:
        given["corpus"] = text_path
    if steps:
        given["steps"] = str(steps)
    elif in_all and options.size != "paper":
        given.setdefault("steps", str(STEPS_IN_ALL))
    return dataclasses.replace(options, variants=tuple(sorted(given.items())))


def corpus(given: str, folder: Path) -> Corpus:
    """Read the text that is trained on and keep it as an array.

    Args:
        given: a file, "" for the source of Python's own standard library.
        folder: where the array goes.

    Raises:
        UsageError: the file cannot be read or the array not be written.
    """
    if given:
        text, words = _read(given), f"the file {Path(given).name}"
    else:
        text, count = _library()
        words = (f"source of the standard library of Python "
                 f"{platform.python_version()}, the first {count} files by name")
    digest = hashlib.sha256(text).hexdigest()
    path = folder / f"corpus-{digest[:12]}.npy"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            aside = folder / f".{path.name}.part"
            with aside.open("wb") as out:
                np.save(out, np.frombuffer(text, np.uint8), allow_pickle=False)
            aside.replace(path)
    except OSError as error:
        raise UsageError(f"{path}: cannot write there: {error.strerror}") from error
    return Corpus(str(path), digest, len(text), words)


def _read(given: str) -> bytes:
    try:
        with Path(given).open("rb") as file:
            text = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"--corpus={given}: cannot read it: {error.strerror}"
                         ) from error
    if len(text) > _MOST_BYTES:
        raise UsageError(f"--corpus={given}: longer than {_MOST_BYTES} bytes; give a "
                         "part of it")
    return text


def _library() -> tuple[bytes, int]:
    """Return the first files of the standard library, sorted by name."""
    parts, length = [], 0
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"),
                       key=lambda each: each.name):
        if length >= _LIBRARY_BYTES:
            break
        parts.append(path.read_bytes())
        length += len(parts[-1])
    return b"".join(parts)[:_LIBRARY_BYTES], len(parts)


def wishes(options: RunOptions) -> dict[str, str]:
    """Return what `--variant=NAME=VALUE` says, with "corpus" among it.

    Raises:
        UnknownNameError: a name that E does not know.
    """
    found = dict(options.variants)
    known = (*_WHOLE, "learning_rate", "corpus")
    for name in found:
        if name not in known:
            raise UnknownNameError("setting of E", name, known)
    return found


def config(options: RunOptions, text: Corpus) -> TrainingConfig:
    """Return the training run of the first seed.

    Raises:
        UsageError: numbers that make no model, or a text that is too short.
    """
    base = _PAPER if options.size == "paper" else _DESK
    found = dataclasses.replace(
        _numbered(base, options), seed=options.seed, dtype=options.dtype or "float32",
        corpus_path=text.path, corpus_sha256=text.sha256,
        train_bytes=int(text.size_bytes * (1 - _EVAL_SHARE)))
    if options.size != "paper":
        found = dataclasses.replace(found, positions=found.sequence)
    _check(found, text)
    return found


def _numbered(base: TrainingConfig, options: RunOptions) -> TrainingConfig:
    changes: dict[str, Any] = {
        name: _number(name, value) for name, value in wishes(options).items()
        if name != "corpus"}
    return dataclasses.replace(base, **changes)


def _number(name: str, text: str) -> int | float:
    try:
        value = float(text) if name == "learning_rate" else int(text)
    except ValueError as error:
        raise UsageError(f"--variant={name}={text}: expected a number") from error
    if not 0 < value < 1e9:
        raise UsageError(f"--variant={name}={text}: expected a number above zero")
    return value


def _check(config: TrainingConfig, text: Corpus) -> None:
    if config.width % config.heads:
        raise UsageError(f"width {config.width} is no multiple of {config.heads} heads")
    if config.sequence > config.positions:
        raise UsageError(f"sequence {config.sequence} is longer than the "
                         f"{config.positions} positions of the model")
    if config.vocabulary < 256:
        raise UsageError(f"vocabulary {config.vocabulary}: bytes need 256")
    rest = min(config.train_bytes, text.size_bytes - config.train_bytes)
    if rest < config.sequence + 2:
        raise UsageError(
            f"the corpus ({text.words}) has {text.size_bytes} bytes; training and "
            f"evaluation need {10 * (config.sequence + 2)} at least")


def model_words(config: TrainingConfig) -> str:
    """Return the model in words."""
    return (f"GPT-2 of {config.layers} layers, width {config.width}, {config.heads} "
            f"heads, {config.parameter_count:,} weights; sequence {config.sequence}, "
            f"batch {config.batch}, {config.dtype}")


def estimate(config: TrainingConfig, runs: int) -> str:
    """Return time and memory of all runs in words, for two cores."""
    tokens = config.sequence * config.batch
    # Forward and twice as much backward; the look-up of a token costs nothing.
    weights = config.parameter_count - config.positions * config.width
    step_s = 3 * weights * tokens / _SPEED
    hours = runs * config.last * step_s / 3600
    memory = (_BYTES_A_WEIGHT * config.parameter_count + _BASE_BYTES) / 2**30
    disk = 12 * config.parameter_count * runs / 2**30
    return (f"E {hours:.1f} h ({runs} runs of {config.last} steps, about "
            f"{step_s:.1f} s a step in float32), {memory:.0f} GiB of memory, "
            f"{disk:.0f} GiB of disk")


def paper_estimate(options: RunOptions, runs: int) -> str:
    """Return the estimate of a call at paper size, without reading the corpus."""
    return estimate(_numbered(_PAPER, options), runs)
