"""The best explanation of a candidate's bits, from arrays on disk to a record."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Mapping, Sequence

import numpy as np

from ge_harness.explain import candidates
from ge_harness.explain.candidates import Choices, Places
from ge_harness.explain.evidence import Evidence, gather
from ge_harness.explain.kernels import KernelLimitError, Kernels
from ge_harness.explain.model import Model, loaded_bits
from ge_harness.explain.policy import (
    ALGORITHM,
    EDGE,
    KERNEL,
    OWN_DTYPE,
    PRODUCT,
    RECIPROCAL,
    SINGLE,
    STEP,
    SUM,
    Key,
)
from ge_harness.explain.search import Evaluate, Found, search
from ge_harness.records.explanation import (
    Explanation,
    Hypothesis,
    OutputExplanation,
    Reproduced,
    SideModel,
)
from ge_harness.records.tensor import Case

WANTED_SHARE = 0.95
FEW_ELEMENTS = 20
_LIMITS = (40, 1500)
_WORK = 4e8
# What one op can do on its own: all that a base line is explained with.
_OWN_KERNELS = (KERNEL, PRODUCT, SUM)
_WITHIN = (SUM, STEP, ALGORITHM, PRODUCT, RECIPROCAL)


@dataclass(frozen=True)
class Sides:
    """What is explained, and from what.

    Attributes:
        case: graph, ports and inputs of all sides.
        candidate: one .npy an output.
        baselines: base line -> one .npy an output; the first one leads.
        tensorflow: version that ran, "" where none did.
        dump_dir: the candidate's dumps, None where there are none.
        passes: names of the candidate's active passes.
    """

    case: Case
    candidate: Sequence[str]
    baselines: Mapping[str, Sequence[str]]
    tensorflow: str = ""
    dump_dir: Path | None = None
    passes: Sequence[str] = field(default_factory=tuple)


def explain(sides: Sides, kernels: Kernels | None = None,
            limit: int | None = None) -> Explanation:
    """Look for the hypotheses under which the model has the candidate's bits.

    Args:
        sides: what is explained.
        kernels: runs the candidate's own functions; without it they are modeled.
        limit: greatest number of evaluations; by default what the size allows.

    Raises:
        DumpError: the graph file cannot be read.
        EvaluationError: the interpreter does not take the graph.
        UnknownOpError: the interpreter lacks an op.
    """
    return _Explaining(sides, kernels, limit).result()


class _Explaining:
    """One explanation in the making."""

    def __init__(self, sides: Sides, kernels: Kernels | None,
                 limit: int | None) -> None:
        self.sides = sides
        self.kernels = kernels
        self.model = Model(sides.case, sides.tensorflow, kernels)
        self.places: Places = self.model.places()
        self.evidence = gather(sides.dump_dir, self.model.graph.nodes, sides.passes)
        self.wanted = loaded_bits(sides.candidate)
        self.limit = limit or _limit(self.wanted.size * len(self.model.graph.nodes))
        self.evaluations = 0
        self.notes: list[str] = []

    def result(self) -> Explanation:
        """Search and write up."""
        baselines = {name: loaded_bits(paths)
                     for name, paths in self.sides.baselines.items()}
        plain = self.model.bits({})
        found = self._search()
        pairs = {name: _pair(bits != self.wanted, found.mask)
                 for name, bits in baselines.items()}
        models = {name: self._baseline(bits, plain)
                  for name, bits in baselines.items()}
        hypotheses = self._hypotheses(found)
        self._remark(found, pairs)
        return Explanation(
            hypotheses=hypotheses, outputs=self._outputs(found, baselines),
            vs_baseline=pairs, plain=int((plain == self.wanted).sum()),
            baselines=models, evaluations=self.evaluations,
            evaluation_limit=self.limit,
            kernel_runs=self.kernels.runs if self.kernels else 0,
            status=_status(pairs), notes=tuple(self.notes))

    def _search(self) -> Found:
        choices = candidates.choices(self.places, self.evidence, kernels=False)
        seeds = candidates.seeds(choices, self.places, self.evidence)
        found = self._look(self.wanted, choices, seeds)
        functions = [key for key in self.places if key.kind in _OWN_KERNELS]
        if self.kernels is None or not functions or found.mask.all():
            return found
        choices = candidates.choices(self.places, self.evidence, kernels=True)
        seeds = [found.state]
        for value in (SINGLE, OWN_DTYPE):
            own = {key: value for key in functions if value in choices[key]}
            seeds += [{**state, **own} for state in (
                found.state, *candidates.seeds(choices, self.places, self.evidence))]
        own_first = sorted(choices, key=lambda key: key.kind not in _OWN_KERNELS)
        again = self._look(self.wanted, {key: choices[key] for key in own_first}, seeds)
        better = again.mask.sum() > found.mask.sum()
        return self._plainer(again) if better else found

    def _plainer(self, found: Found) -> Found:
        """Say an order instead of "the compiler's kernel" where it fits as well."""
        state = dict(found.state)
        choices = candidates.choices(self.places, self.evidence, kernels=False)
        for key in [key for key in state if key.kind in (SUM, PRODUCT)]:
            if state[key] not in (SINGLE, OWN_DTYPE):
                continue
            for value in choices[key]:
                self.evaluations += 1
                mask, _ = self._evaluate(self.wanted)({**state, key: value})
                if mask.sum() >= found.mask.sum():
                    state[key], found.mask = value, mask
                    break
        found.state = state
        return found

    def _look(self, wanted: np.ndarray, choices: Choices,
              seeds: Sequence[Mapping[Key, str]]) -> Found:
        found = search(self._evaluate(wanted), choices, seeds,
                       max(1, self.limit - self.evaluations))
        self.evaluations += found.evaluations
        if found.exhausted:
            self.notes.append(f"the search stopped at {self.limit} evaluations; a "
                              "better explanation may exist")
        return found

    def _evaluate(self, wanted: np.ndarray) -> Evaluate:
        def run(state: Mapping[Key, str]) -> tuple[np.ndarray, np.ndarray]:
            try:
                bits = self.model.bits(state)
            except KernelLimitError:
                return np.zeros(wanted.size, bool), np.zeros(wanted.size, np.uint64)
            return bits == wanted, bits

        return run

    def _baseline(self, bits: np.ndarray, plain: np.ndarray) -> SideModel:
        choices = {key: values for key, values in candidates.choices(
            self.places, Evidence(), kernels=False).items() if key.kind in _WITHIN}
        found = search(self._evaluate(bits), choices,
                       candidates.seeds(choices, self.places, Evidence()), self.limit)
        return SideModel(
            tuple(self._hypothesis(key, found, ()) for key in _ranked(found)),
            bits.size, int(found.mask.sum()), int((plain == bits).sum()))

    def _hypotheses(self, found: Found) -> tuple[Hypothesis, ...]:
        made = []
        choices = candidates.choices(self.places, self.evidence, kernels=False)
        for key in _ranked(found):
            fits: list[str] = []
            if key.kind in (SUM, PRODUCT):
                for value in choices[key]:
                    if value == found.state[key]:
                        continue
                    self.evaluations += 1
                    mask, _ = self._evaluate(self.wanted)({**found.state, key: value})
                    if mask.sum() >= found.mask.sum():
                        fits.append(value)
            made.append(self._hypothesis(key, found, fits))
        return tuple(made)

    def _hypothesis(self, key: Key, found: Found,
                    alternatives: Sequence[str]) -> Hypothesis:
        value = found.state[key]
        source = self.places[key].get("source", "")
        return Hypothesis(
            key.kind, key.node, key.place, source,
            "" if value == candidates.ON else value, found.gained[key],
            self._speaks_for(key, source, value), tuple(alternatives))

    def _speaks_for(self, key: Key, source: str, value: str) -> str:
        words = value.replace(",", "").split()
        if key.kind == SUM and "windows" in words:
            size = int(words[words.index("of") + 1])
            if size in self.evidence.windows:
                return f"the optimized program sums in windows of {size}"
        if key.kind == STEP and key.node in self.evidence.wide:
            return f"the optimized program works {key.node} out in float32"
        if key.kind == EDGE and source in self.evidence.wide:
            return f"the optimized program keeps {source} in float32"
        if source and self.evidence.together((key.node, source)):
            return "both are in one kernel of the optimized program"
        return ""

    def _outputs(self, found: Found, baselines: Mapping[str, np.ndarray]
                 ) -> tuple[OutputExplanation, ...]:
        made, start = [], 0
        for port, path in zip(self.sides.case.outputs, self.sides.candidate):
            size = np.load(path, mmap_mode="r", allow_pickle=False).size
            part = slice(start, start + size)
            start += size
            mask, wanted = found.mask[part], self.wanted[part]
            pairs: dict[str, Reproduced] = {}
            first = None
            for name, bits in baselines.items():
                differs = bits[part] != wanted
                left = np.flatnonzero(differs & ~mask)
                if not pairs and left.size:
                    first = int(left[0])
                pairs[name] = _pair(differs, mask)
            made.append(OutputExplanation(
                port.spec.name, size, int(mask.sum()),
                float(mask.mean()) if size else None, pairs, first))
        return tuple(made)

    def _remark(self, found: Found, pairs: Mapping[str, Reproduced]) -> None:
        if not self.evidence.found:
            self.notes.append("no optimized program was read from the dumps; nothing "
                              "but the bits speaks for the hypotheses")
        for name, pair in pairs.items():
            if 0 < pair.differing < FEW_ELEMENTS:
                self.notes.append(
                    f"only {pair.differing} elements differ from {name}: too few to "
                    "tell an explanation from a coincidence; --sets gives more")
        if not found.state and _status(pairs) == "explained":
            self.notes.append("no hypothesis gains bits: what the candidate does is "
                              "rounding after each op, as modeled")


def _limit(work: int) -> int:
    return int(min(_LIMITS[1], max(_LIMITS[0], _WORK / max(work, 1))))


def _ranked(found: Found) -> list[Key]:
    return sorted(found.state, key=lambda key: (-found.gained[key], key))


def _pair(differs: np.ndarray, mask: np.ndarray) -> Reproduced:
    count, right = int(differs.sum()), int((differs & mask).sum())
    if not count:
        return Reproduced(0, 0)
    return Reproduced(count, right, right / count, (count - right) / count)


def _status(pairs: Mapping[str, Reproduced]) -> str:
    """Return the status by the base line that differs most in share unexplained."""
    shares = [pair.share for pair in pairs.values() if pair.share is not None]
    if not shares:
        return "equal"
    if min(shares) >= WANTED_SHARE:
        return "explained"
    return "partly" if max(shares) > 0 else "unexplained"
