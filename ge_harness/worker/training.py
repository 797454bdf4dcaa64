"""The training job of a worker: steps, evaluations, checkpoints, curves.

A run that was killed goes on from its last checkpoint and gives the same curves to the
bit: everything that a step depends on is in the checkpoint or follows from the seed and
the number of the step.
"""

from __future__ import annotations

import hashlib
import json
import resource
import time
from pathlib import Path
from typing import Any, Mapping

import numpy as np

from ge_harness.backends import training_engine, training_model
from ge_harness.backends.base import BackendFailure
from ge_harness.records import serialize
from ge_harness.records.run import Environment, FailureKind, RunRequest
from ge_harness.records.training import TrainingConfig, TrainingResult
from ge_harness.worker import environment
from ge_harness.worker.execution import Phase
from ge_harness.worker.job_folder import Job, JobFolder
from ge_harness.worker.training_state import Curves, TrainingFolder
from ge_harness.worker.training_summary import Summaries

STATE_DIR = "state_dir"
# May differ between the calls that one run is made of.
_FREE = ("stop", "checkpoint_every", "corpus_path")
_PROGRESS_EVERY_S = 2.0


def train(folder: JobFolder, job: Job, phase: Phase) -> Environment:
    """Train to the end, or on from the last checkpoint; returns what it ran on.

    Raises:
        BackendFailure: the backend cannot train, or a step failed.
        UsageError: the checkpoint is of another run or cannot be read.
    """
    options: Mapping[str, Any] = dict(job.options)
    request = job.request
    if request is None:
        raise BackendFailure(FailureKind.BUILD, "a training job without a request")
    config: TrainingConfig = serialize.build(
        TrainingConfig, {name: value for name, value in options.items()
                         if name != STATE_DIR})
    run = _Run(folder, request, config, TrainingFolder(Path(options[STATE_DIR])))
    phase.enter(FailureKind.COMPILE, "building the model")
    run.begin()
    phase.enter(FailureKind.RUN, "training")
    run.to_the_end()
    return environment.describe(
        job.removed, (("tensorflow", request.threads),), run.engine.route)


class _Run:
    """One process's part of a training run."""

    def __init__(self, job: JobFolder, request: RunRequest, config: TrainingConfig,
                 folder: TrainingFolder) -> None:
        self._job = job
        self._request = request
        self._config = config
        self._folder = folder
        self._curves = Curves()
        self._compile_s = 0.0
        self._told = 0.0
        self._corpus = np.load(config.corpus_path, mmap_mode="r", allow_pickle=False)
        self._places = training_model.positions(config)
        self._eval_places = training_model.eval_positions(config, len(self._corpus))

    def begin(self) -> None:
        """Build the model and take the last checkpoint over."""
        self.engine = training_engine.make(
            self._request, self._config, self._job.path)
        self._fingerprint = _fingerprint(self._request, self._config)
        found = self._folder.load(self._fingerprint)
        state = training_model.initial(self._config)
        if found is not None:
            state, self._curves = found
        self.engine.load(state)
        self._summaries = Summaries(
            self._folder.summaries_dir, len(self._curves.loss))

    def to_the_end(self) -> None:
        """Do the steps that are left and write what came of them."""
        config, first = self._config, len(self._curves.loss) + 1
        for step in range(first, config.last + 1):
            self._step(step, first)
            if step % config.sample_every == 0 or step == config.last:
                self._sample(step)
            if step % config.checkpoint_every == 0 or step == config.last:
                self._folder.save(
                    self._fingerprint, self.engine.arrays(), self._curves)
        self._summaries.close()
        self._folder.finish(self._result(), self._curves)

    def _step(self, step: int, first: int) -> None:
        tokens = self._batch(self._places[step - 1])
        started = time.monotonic()
        loss, norm = self.engine.step(
            tokens, training_model.rate(self._config, step))
        spent_s = time.monotonic() - started
        if step == first:
            self._compile_s = spent_s
        else:
            self._curves.train_s += spent_s
        self._curves.loss.append(np.float32(loss))
        self._curves.gradient_norm.append(np.float32(norm))
        now = time.monotonic()
        if now - self._told >= _PROGRESS_EVERY_S:
            self._told = now
            self._folder.progress_path.write_text(
                f"step {step} of {self._config.last}, loss {float(loss):.4f}\n",
                encoding="utf-8")

    def _sample(self, step: int) -> None:
        found = np.mean([self.engine.evaluate(self._batch(places)) for places
                         in self._eval_places], dtype=np.float64).astype(np.float32)
        if self._curves.eval_steps[-1:] != [step]:
            self._curves.eval_steps.append(step)
            self._curves.eval_loss.append(found)
        with np.errstate(over="ignore"):
            perplexity = np.exp(found)
        self._summaries.write(step, {
            "loss": self._curves.loss[-1], "eval_loss": found,
            "gradient_norm": self._curves.gradient_norm[-1], "perplexity": perplexity})

    def _batch(self, places: np.ndarray) -> np.ndarray:
        """Return [batch, sequence + 1] int32."""
        length = self._config.sequence + 1
        return np.stack([self._corpus[place:place + length] for place in places]
                        ).astype(np.int32)

    def _result(self) -> TrainingResult:
        graphs = self._job.dumps_dir / "graphs.json"
        return TrainingResult(
            steps=len(self._curves.loss), processes=self._curves.processes,
            train_s=self._curves.train_s, compile_s=self._compile_s,
            peak_bytes=1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
            parameters=self._config.parameter_count, route=self.engine.route,
            dump_dir=str(self._job.dumps_dir), summaries=self._summaries.words,
            graph_path=str(graphs) if graphs.exists() else "",
            sent=tuple((name, value.replace(str(self._job.dumps_dir), "dumps"))
                       for name, value in self.engine.sent),
            notes=self.engine.notes())


def _fingerprint(request: RunRequest, config: TrainingConfig) -> str:
    """Return a digest of everything that the bits of a curve depend on."""
    import tensorflow

    plain = serialize.to_plain(config)
    held = {name: value for name, value in plain.items() if name not in _FREE}
    text = json.dumps([held, request.backend, serialize.to_plain(request.setting),
                       list(request.options), request.threads, np.__version__,
                       tensorflow.__version__], sort_keys=True)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
