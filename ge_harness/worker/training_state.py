"""The folder of a training run: checkpoints, curves, result.

* checkpoint.npz: the state after a step and the curves up to it; written aside and
  renamed, so a kill leaves the one before
* loss.npy, gradient_norm.npy: [steps] float32, a value a step
* eval_steps.npy, eval_loss.npy: [samples] int64 and float32
* result.json: written last, once the run is finished
* progress.txt: step and loss, for whoever watches
* tensorboard/: summaries, where the extra `tensorboard` is installed
"""

from __future__ import annotations

import contextlib
import os
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Sequence

import numpy as np

from ge_harness.errors import UsageError
from ge_harness.records import serialize
from ge_harness.records.training import TrainingResult
from ge_harness.worker import job_folder

CURVES = ("loss", "gradient_norm", "eval_steps", "eval_loss")
_KIND = "training"


@dataclass
class Curves:
    """What was measured so far; grows with the run.

    Attributes:
        loss: before each step's update, float32.
        gradient_norm: of each step, before it is clipped, float32.
        eval_steps: the steps after which the model was evaluated.
        eval_loss: what came out then, float32.
        processes: processes that had a part in it, this one too.
        train_s: time in steps, in seconds.
    """

    loss: list[np.float32] = field(default_factory=list)
    gradient_norm: list[np.float32] = field(default_factory=list)
    eval_steps: list[int] = field(default_factory=list)
    eval_loss: list[np.float32] = field(default_factory=list)
    processes: int = 1
    train_s: float = 0.0

    def arrays(self) -> dict[str, np.ndarray]:
        """Return name -> array, the names being `CURVES`."""
        return {"loss": np.array(self.loss, np.float32),
                "gradient_norm": np.array(self.gradient_norm, np.float32),
                "eval_steps": np.array(self.eval_steps, np.int64),
                "eval_loss": np.array(self.eval_loss, np.float32)}


class TrainingFolder:
    """The files of one training run.

    Attributes:
        path: the folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def checkpoint_path(self) -> Path:
        """State and curves after some step."""
        return self.path / "checkpoint.npz"

    @property
    def result_path(self) -> Path:
        """What a finished run says of itself."""
        return self.path / "result.json"

    @property
    def progress_path(self) -> Path:
        """Step and loss."""
        return self.path / "progress.txt"

    @property
    def summaries_dir(self) -> Path:
        """TensorBoard summaries."""
        return self.path / "tensorboard"

    def save(self, fingerprint: str, state: Sequence[np.ndarray], curves: Curves
             ) -> None:
        """Write a checkpoint aside and rename it into place.

        Raises:
            OSError: it cannot be written.
        """
        aside = self.path / f".checkpoint.{os.getpid()}"
        held: dict[str, Any] = {
            f"state{number:05d}": array for number, array in enumerate(state)}
        held.update(curves.arrays(), fingerprint=np.array(fingerprint),
                    processes=np.array(curves.processes),
                    train_s=np.array(curves.train_s))
        try:
            with aside.open("wb") as out:
                np.savez(out, **held)
                out.flush()
                os.fsync(out.fileno())
            aside.replace(self.checkpoint_path)
        except BaseException:
            with contextlib.suppress(OSError):
                aside.unlink()
            raise

    def load(self, fingerprint: str) -> tuple[list[np.ndarray], Curves] | None:
        """Return the state and the curves of the last checkpoint, None for none.

        Raises:
            UsageError: it cannot be read, or is of another run.
        """
        path = self.checkpoint_path
        if not path.exists():
            return None
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as found:
                if str(found["fingerprint"]) != fingerprint:
                    raise UsageError(
                        f"{path} is of another run (model, data, schedule, switches or "
                        "versions differ); use another folder")
                state = [found[name] for name in sorted(found.files)
                         if name.startswith("state")]
                curves = Curves(
                    list(found["loss"]), list(found["gradient_norm"]),
                    [int(step) for step in found["eval_steps"]],
                    list(found["eval_loss"]), int(found["processes"]) + 1,
                    float(found["train_s"]))
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise UsageError(f"{path}: no checkpoint that can be read ({error}); "
                             "delete it to begin anew") from error
        return state, curves

    def finish(self, result: TrainingResult, curves: Curves) -> None:
        """Write the curves, then the result.

        Raises:
            OSError: they cannot be written.
        """
        for name, array in curves.arrays().items():
            np.save(str(self.path / f"{name}.npy"), array, allow_pickle=False)
        job_folder.write_aside(self.result_path, serialize.dumps(_KIND, result))

    def result(self) -> TrainingResult | None:
        """Return what a finished run says of itself, None where it is not finished.

        Raises:
            UsageError: the file is not ours.
        """
        if not self.result_path.exists():
            return None
        text = self.result_path.read_text(encoding="utf-8")
        data = serialize.loads(_KIND, text, self.result_path)
        found: TrainingResult = serialize.build(TrainingResult, data)
        return found

    def curve(self, name: str) -> np.ndarray:
        """Return one of `CURVES` of a finished run."""
        return np.asarray(np.load(str(self.path / f"{name}.npy"), allow_pickle=False))
