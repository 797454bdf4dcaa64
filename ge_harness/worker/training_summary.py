"""TensorBoard summaries of a training run, where TensorBoard is installed."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any, Mapping

import numpy as np

EXTRA = "summaries are off: pip install 'ge-harness[tensorboard]'"


class Summaries:
    """Writes scalars; does nothing but say why where TensorBoard is not installed.

    TensorFlow 2.21 comes without TensorBoard; 1.15 and 2.6 bring it.

    Attributes:
        words: the folder they are in, or why there are none.
    """

    def __init__(self, folder: Path, first_step: int) -> None:
        self._writer: Any = None
        self._tf: Any = None
        self.words = EXTRA
        if importlib.util.find_spec("tensorboard") is None:
            return
        from ge_harness.backends import tf_loader

        tf = tf_loader.load()
        v1 = tf.compat.v1
        try:
            # A writer is refused where eager execution is on; a graph is no eager one.
            with tf.Graph().as_default():
                self._writer = v1.summary.FileWriter(str(folder))
        except (ImportError, AttributeError, RuntimeError, OSError) as error:
            self.words = f"summaries are off: {type(error).__name__}: {error}"
            return
        self._tf = tf
        self.words = str(folder)
        if first_step:
            # Tells TensorBoard that later steps of a killed process count no more.
            self._writer.add_session_log(
                v1.SessionLog(status=v1.SessionLog.START), first_step)

    def write(self, step: int, values: Mapping[str, np.float32]) -> None:
        """Write scalars of a step."""
        if self._writer is None:
            return
        summary = self._tf.compat.v1.Summary()
        for name, value in sorted(values.items()):
            summary.value.add(tag=name, simple_value=float(value))
        self._writer.add_summary(summary, step)
        self._writer.flush()

    def close(self) -> None:
        """Close the file."""
        if self._writer is not None:
            self._writer.close()
