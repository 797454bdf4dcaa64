"""From finished training runs to the report of E: tables, figures, verdict."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Mapping, Sequence

import numpy as np

from ge_harness.experiments import bench as benches
from ge_harness.experiments import training_curves as curves
from ge_harness.experiments import training_evidence, training_plan
from ge_harness.experiments.bench import Bench
from ge_harness.experiments.training_curves import METRICS, Run, Spread
from ge_harness.experiments.verdict import Ruling, settle
from ge_harness.records import serialize
from ge_harness.records.experiment import (
    CounterexampleRecord,
    ExperimentReport,
    ExperimentTable,
    ExperimentVerdict,
    FigureRecord,
    MechanismEvidence,
)
from ge_harness.records.job import JobFailure
from ge_harness.records.run import Environment
from ge_harness.records.training import TrainingConfig, TrainingResult
from ge_harness.worker import backend_lookup
from ge_harness.worker.training_state import CURVES, TrainingFolder

TITLE = "end-to-end training, eager against compiled"
CLAIM = ("training compiled and training eager, from one seed, data, schedule and "
         "optimizer, give curves that are no further apart than those of eager runs "
         "with different seeds")
_LIMITS = (
    "a model without dropout; float16 uses a constant loss scale of 128",
    "the spread is that of few seeds: the pair is held against the two that are "
    "closest, the strictest choice",
    "which operation made the first difference is not searched for here; experiments "
    "B, C and `run --explain` do that on single chains",
    "with GE: built on public sources, not run on a device by the authors")
_SHORT = {"loss": "loss", "eval_loss": "eval loss", "gradient_norm": "gradient norm"}


@dataclass(frozen=True)
class Finished:
    """One training run, or why it is none.

    Attributes:
        name: e.g. "eager seed 0".
        folder: its files.
        result: what it says of itself, None where it failed.
        outcome: the failure, None where there is none.
    """

    name: str
    folder: TrainingFolder
    result: TrainingResult | None
    outcome: JobFailure | None

    def curves(self) -> Run:
        """Read the curves."""
        arrays = {name: self.folder.curve(name) for name in CURVES}
        return Run(self.name, **arrays)


def not_applicable(backend: str) -> ExperimentReport:
    """Return the report of a backend that does not train."""
    why = ("the emulator evaluates frozen graphs in NumPy and has no gradients"
           if backend == "emulator" else f"{backend} is no compiler to be compared")
    return ExperimentReport(
        "E", TITLE, CLAIM, ExperimentVerdict.NOT_APPLICABLE, why, "nothing was run",
        (), (), ExperimentTable("no runs", ("run",), ()), benches.NO_BACKEND,
        dtype="float32")


def judge(bench: Bench, config: TrainingConfig, text: training_plan.Corpus,
          sides: Mapping[str, Finished], seeds: int) -> ExperimentReport:
    """Judge runs by their curves on disk.

    Args:
        bench: where they were run.
        config: of the first seed.
        text: what they were trained on.
        sides: by name; the last is a failure where one failed.
        seeds: how many eager runs were wanted.
    """
    method = (f"{training_plan.model_words(config)}; Adam, linear warm-up and cosine, "
              f"gradient norm clipped at 1; {config.last} steps; corpus: {text.words}, "
              f"{text.size_bytes} bytes, sha256 {text.sha256}, its last tenth for "
              f"evaluation; {seeds} eager runs with seeds from {config.seed}; the "
              "first steps once more for both sides")
    report = ExperimentReport(
        "E", TITLE, CLAIM, ExperimentVerdict.INCONCLUSIVE, "", method, _LIMITS, (),
        _runs(sides), benches.NO_BACKEND, dtype=config.dtype,
        artifacts=_artifacts(bench, sides))
    for side in sides.values():
        if side.outcome is not None:
            return dataclasses.replace(
                report, why=f"{side.name} gave no curve: {side.outcome.kind.value}: "
                f"{side.outcome.message}")
    return _judged(bench, report, config, sides)


def _judged(bench: Bench, report: ExperimentReport, config: TrainingConfig,
            sides: Mapping[str, Finished]) -> ExperimentReport:
    backend = bench.options.backend
    found = {name: side.curves() for name, side in sides.items()}
    compiled = found[f"{backend} seed {config.seed}"]
    eager = [run for name, run in found.items() if name.startswith("eager")
             and not name.endswith("again")]
    evidence = _evidence(bench, sides, found, config)
    spreads = [curves.spread(metric, eager, compiled) for metric in METRICS
               ] if len(eager) > 1 else []
    verdict, why = _rule(eager, compiled, spreads, evidence)
    return dataclasses.replace(
        report, verdict=verdict, why=why, evidence=tuple(evidence),
        table=_samples(eager, compiled),
        more_tables=(_final(eager, compiled, spreads), _first_bits(eager[0], compiled),
                     report.table),
        figures=_figures(bench, eager, compiled),
        counterexamples=_counterexample(verdict, config, spreads))


def _evidence(bench: Bench, sides: Mapping[str, Finished], found: Mapping[str, Run],
              config: TrainingConfig) -> list[MechanismEvidence]:
    backend, seed = bench.options.backend, config.seed
    result = sides[f"{backend} seed {seed}"].result
    evidence = []
    if result is not None:
        evidence.append(training_evidence.compiled(backend, result, bench.folder))
    evidence += training_evidence.switches(backend, bench.options.setting)
    for name in ("eager", backend):
        whole, again = found[f"{name} seed {seed}"], found[f"{name} seed {seed} again"]
        steps = len(again.loss)
        same = curves.bits_equal(whole, again, steps)
        evidence.append(MechanismEvidence(
            f"{name} repeats its own bits in another process",
            f"the first {steps} steps are {'equal' if same else 'NOT equal'} in every "
            "bit of loss and gradient norm", "", same))
    count = sum(name.startswith("eager") and not name.endswith("again")
                for name in found)
    evidence.append(MechanismEvidence(
        f"the spread of {training_plan.SEEDS} eager seeds or more",
        f"{count} eager seeds", "", count >= training_plan.SEEDS))
    return evidence


def _rule(eager: Sequence[Run], compiled: Run, spreads: Sequence[Spread],
          evidence: Sequence[MechanismEvidence]) -> Ruling:
    if not all(curves.finite(run) for run in eager):
        return ExperimentVerdict.INCONCLUSIVE, (
            "eager training itself reached NaN or infinity; choose another learning "
            "rate or dtype")
    first = curves.divergences(eager[0], compiled)[0]
    start = ("the curves are equal in every bit" if first.step is None else
             f"first difference in bits at step {first.step} ({first.metric})")
    outside = [each for each in spreads if not each.within]
    parts = [f"{_SHORT[each.metric]} {each.pair.rms:.3g} against "
             f"{each.closest.rms:.3g}" for each in (outside or spreads)]
    words = (f"{start}; root mean square between the curves against that of the two "
             f"closest eager seeds: {', '.join(parts) or 'no spread is known'}")
    return settle(not outside, words, evidence)


def _samples(eager: Sequence[Run], compiled: Run) -> ExperimentTable:
    rows: list[tuple[object, ...]] = []
    names = ("loss", "eval_loss", "gradient_norm", "perplexity")
    values = {name: [run.sampled(name) for run in (*eager, compiled)] for name in names}
    for place, step in enumerate(eager[0].eval_steps):
        row: list[object] = [int(step)]
        for name in names:
            a, b = float(values[name][0][place]), float(values[name][-1][place])
            row += [a, b, b - a]
        seeds = [float(each[place]) for each in values["eval_loss"][:-1]]
        rows.append((*row, max(seeds) - min(seeds)))
    heads = [f"{word} {side}" for word in ("loss", "eval", "norm", "perplexity")
             for side in ("eager", "compiled", "difference")]
    return ExperimentTable("eager against compiled, sampled", (
        "step", *heads, "spread of eval over eager seeds"), tuple(rows))


def _final(eager: Sequence[Run], compiled: Run, spreads: Sequence[Spread]
           ) -> ExperimentTable:
    by_metric = {each.metric: each for each in spreads}
    shares = curves.changed_share(eager[0], compiled)
    rows = []
    for name in (*METRICS, "perplexity"):
        a, b = (float(run.sampled(name)[-1]) for run in (eager[0], compiled))
        each = by_metric.get(name)
        rows.append((
            name, a, b, b - a, abs(b - a) / abs(a) if a else None, shares.get(name),
            *((each.pair.rms, each.pair.greatest, each.closest.rms,
               each.closest.greatest, each.within) if each else (None,) * 5)))
    return ExperimentTable("final difference, and distance of the curves", (
        "metric", "eager", "compiled", "difference", "relative", "steps whose bits "
        "differ (share)", "RMS", "greatest", "RMS of the closest eager seeds",
        "greatest of the closest eager seeds", "within"), tuple(rows))


def _first_bits(eager: Run, compiled: Run) -> ExperimentTable:
    rows = [(each.metric, each.step if each.step is not None else "never",
             each.eager, each.compiled, each.ulp)
            for each in curves.divergences(eager, compiled)]
    return ExperimentTable("first difference in bits", (
        "metric", "step", "eager", "compiled", "ULP"), tuple(rows))


def _runs(sides: Mapping[str, Finished]) -> ExperimentTable:
    rows: list[tuple[object, ...]] = []
    for name, side in sides.items():
        result = side.result
        if result is None:
            rows.append((name, "failed", *(None,) * 7))
            continue
        per_step = result.train_s / max(1, result.steps - result.processes)
        rows.append((name, result.steps, 1000 * per_step, result.compile_s,
                     result.peak_bytes / 2**20, result.processes, result.route,
                     side.curves().digest, "written" if Path(
                         result.summaries).is_absolute() else result.summaries))
    return ExperimentTable("training runs", (
        "run", "steps", "milliseconds a step", "first step in seconds", "peak MiB",
        "processes", "route", "sha256 of all steps", "TensorBoard"), tuple(rows))


def _figures(bench: Bench, eager: Sequence[Run], compiled: Run
             ) -> tuple[FigureRecord, ...]:
    name = bench.options.backend
    label = f"{name}: {backend_lookup.load(name).label}"
    steps = tuple(float(step) for step in range(1, len(compiled.loss) + 1))
    samples = tuple(float(step) for step in compiled.eval_steps)
    everybody = (*eager, compiled)

    def lines(title: str, y: str, x: Sequence[float], series: dict[str, Any]
              ) -> FigureRecord:
        return FigureRecord(f"{title} ({label})", "lines", "step", y, tuple(x), {
            name: tuple(float(value) for value in values)
            for name, values in series.items()})

    figures = [lines("loss of every step", "loss", steps,
                     {run.name: run.loss for run in (eager[0], compiled)})]
    for metric, word in (*_SHORT.items(), ("perplexity", "perplexity")):
        figures.append(lines(f"{word}, sampled", word, samples, {
            run.name: run.sampled(metric) for run in everybody}))
    gap = np.abs(eager[0].sampled("eval_loss") - compiled.sampled("eval_loss"))
    figures.append(lines("distance of the curves", "log10 of |difference|", samples, {
        "eval loss": np.log10(np.maximum(gap, 1e-12)),
        "loss": np.log10(np.maximum(np.abs(
            eager[0].sampled("loss") - compiled.sampled("loss")), 1e-12))}))
    return tuple(figures)


def _counterexample(verdict: ExperimentVerdict, config: TrainingConfig,
                    spreads: Sequence[Spread]) -> tuple[CounterexampleRecord, ...]:
    if verdict is not ExperimentVerdict.REFUTED:
        return ()
    outside = [each for each in spreads if not each.within]
    return (CounterexampleRecord(
        "training leaves the spread of seeds", "",
        f"corpus sha256 {config.corpus_sha256}, seed {config.seed}",
        "the compiled curve is further from the eager one than eager runs with other "
        "seeds are; the operation is not located here", {
            f"{each.metric} {name}": value for each in outside for name, value in (
                ("rms", each.pair.rms), ("rms of the closest seeds", each.closest.rms),
                ("greatest", each.pair.greatest),
                ("greatest of the closest seeds", each.closest.greatest))}),)


def _artifacts(bench: Bench, sides: Mapping[str, Finished]) -> dict[str, object]:
    return {name: [bench.folder.relative(str(side.folder.path / f"{curve}.npy"))
                   for curve in CURVES]
            for name, side in sides.items() if side.result is not None}


def labelled(report: ExperimentReport, sides: Mapping[str, Finished]
             ) -> ExperimentReport:
    """Fill in what the compiled run says that it ran on (a stand-in says so)."""
    name = report.backend.name
    for side in sides.values():
        path = side.folder.path / "environment.json"
        if not side.name.startswith(name) or not path.exists():
            continue
        data = serialize.loads("environment", path.read_text(encoding="utf-8"), path)
        environment: Environment = serialize.build(Environment, data)
        label, emulated = backend_lookup.load(name).describe(environment)
        stack = {key: getattr(environment, key) for key in (
            "tensorflow", "npu_bridge", "cann", "cpu_model")}
        return dataclasses.replace(
            report, backend=dataclasses.replace(
                report.backend, label=label, emulated=emulated),
            versions={**report.versions, **{
                key: value for key, value in stack.items() if value}})
    return report
