"""What a training run of experiment E is asked for, and what it leaves behind."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TrainingConfig:
    """One training run: model, data, schedule, optimizer.

    Attributes:
        layers: transformer blocks.
        width: length of the embedding.
        heads: attention heads; they divide `width`.
        sequence: tokens that are predicted, of each sequence of a batch.
        batch: sequences a step.
        vocabulary: rows of the token embedding.
        positions: rows of the position embedding.
        steps: steps of the schedule.
        stop: the run ends after this step, 0 for `steps`.
        sample_every: evaluated every so many steps, and after the last.
        checkpoint_every: a checkpoint every so many steps, and after the last.
        eval_batches: batches of an evaluation.
        learning_rate: greatest learning rate.
        seed: of the initial weights and of the order of the data.
        dtype: the model computes in it; weights and optimizer stay float32.
        corpus_path: .npy, [bytes] uint8.
        corpus_sha256: of the text.
        train_bytes: length of the part that is trained on; the rest is for evaluation.
    """

    layers: int = 2
    width: int = 128
    heads: int = 4
    sequence: int = 128
    batch: int = 4
    vocabulary: int = 256
    positions: int = 128
    steps: int = 1000
    stop: int = 0
    sample_every: int = 50
    checkpoint_every: int = 100
    eval_batches: int = 4
    learning_rate: float = 1e-3
    seed: int = 0
    dtype: str = "float32"
    corpus_path: str = ""
    corpus_sha256: str = ""
    train_bytes: int = 0

    @property
    def last(self) -> int:
        """The step after which the run ends."""
        return min(self.stop or self.steps, self.steps)

    @property
    def parameter_count(self) -> int:
        """Number of weights."""
        block = 12 * self.width * self.width + 13 * self.width
        return (self.layers * block + 2 * self.width
                + (self.vocabulary + self.positions) * self.width)


@dataclass(frozen=True)
class TrainingResult:
    """What a finished training run says of itself; its curves lie beside it as .npy.

    Attributes:
        steps: steps done.
        processes: processes that had a part in it: more than one after a kill.
        train_s: time in steps, evaluations left out, in seconds.
        compile_s: time of the first step of the last process, in seconds.
        peak_bytes: most memory the last process held.
        parameters: number of weights.
        route: how it executed.
        dump_dir: folder of the compiler's dumps, "" where there are none.
        graph_path: record of the graphs before and after Grappler, "" for none.
        summaries: folder of TensorBoard summaries, or why there are none.
        sent: options as the compiler got them.
        notes: sentences a reader must know.
    """

    steps: int
    processes: int
    train_s: float
    compile_s: float
    peak_bytes: int
    parameters: int
    route: str
    dump_dir: str = ""
    graph_path: str = ""
    summaries: str = ""
    sent: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
