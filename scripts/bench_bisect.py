"""Trials that the search of `bisect` needs, against two known searches.

    python scripts/bench_bisect.py [--sets=200] [--switches=64] [--seed=0]

Prints, for drawn sets of k culprits, the mean number of trials and the share of sets
that were named exactly, for

* independent culprits: agreement needs every culprit off;
* culprits that differ together: the difference shows only while all are on, so any
  one of them off restores agreement;
* masked culprits: independent, and another switch must stay on, since its being off
  makes a difference itself;
* independent culprits beside a switch whose being off leaves the trial undecided;
* independent culprits and an oracle that is wrong once in twenty answers.

Delta debugging (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing
Input", IEEE TSE 28(2), 2002: ddmin) and FLiT's bisection (Bentley et al., "Multi-Level
Analysis of Compiler-Induced Variability and Performance Tradeoffs", HPDC 2019) are
written from their descriptions. Every search is told the same verdicts; each set is
asked once (the doubtful oracle: as often as the search asks).
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path
from typing import Callable, FrozenSet, Optional, Sequence

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from ge_harness.backends.emulator.backend import EmulatorBackend
from ge_harness.backends.grappler import GrapplerBackend
from ge_harness.backends.xla import XlaBackend
from ge_harness.bisect.search import lower_bound, search
from ge_harness.records.search import Plan

Verdict = Callable[[FrozenSet[str]], Optional[bool]]
SIZES = (1, 2, 3, 5)


class Counted:
    """Counts the trials of a verdict; a set that was asked is remembered."""

    def __init__(self, verdict: Verdict) -> None:
        self._verdict = verdict
        self._seen: dict[frozenset[str], bool | None] = {}
        self.count = 0

    def __call__(self, off: Sequence[str]) -> bool | None:
        """Return the verdict of a set."""
        key = frozenset(off)
        if key not in self._seen:
            self.count += 1
            self._seen[key] = self._verdict(key)
        return self._seen[key]


def ddmin(names: Sequence[str], agrees: Counted) -> tuple[str, ...]:
    """Return a 1-minimal set that agrees, () where all off does not."""
    if not agrees(names):
        return ()
    left, parts = tuple(names), 2
    while len(left) >= 2:
        bounds = [len(left) * index // parts for index in range(parts + 1)]
        chunks = [left[low:high] for low, high in zip(bounds, bounds[1:])]
        rests = [tuple(each for each in left if each not in chunk) for chunk in chunks]
        smaller = next((chunk for chunk in chunks if agrees(chunk)), None)
        if smaller is not None:
            left, parts = smaller, 2
            continue
        rest = next((rest for rest in rests if agrees(rest)), None)
        if rest is not None:
            left, parts = rest, max(parts - 1, 2)
        elif parts >= len(left):
            break
        else:
            parts = min(len(left), 2 * parts)
    return left


def flit(names: Sequence[str], agrees: Counted) -> tuple[str, ...]:
    """Return what FLiT names: each part alone on, halved where it differs.

    It assumes that culprits act one by one: a part differs exactly where it holds one.
    """
    everything = frozenset(names)

    def differs(on: Sequence[str]) -> bool:
        return not agrees(tuple(everything - frozenset(on)))

    left, found = list(names), []
    while left and differs(left):
        part = list(left)
        while len(part) > 1:
            half = part[:len(part) // 2]
            part = half if differs(half) else part[len(part) // 2:]
        found.append(part[0])
        left = left[left.index(part[0]) + 1:]
    if found:
        differs(found)
    return tuple(found)


def kinds(names: Sequence[str], k: int, state: random.Random
          ) -> dict[str, tuple[Verdict, Callable[[frozenset[str]], bool]]]:
    """Return kind -> (verdict, whether a set is a right answer)."""
    drawn = state.sample(list(names), k + 1)
    culprits, other = frozenset(drawn[:k]), drawn[k]

    def noisy(off: frozenset[str]) -> bool:
        return (culprits <= off) != (state.random() < 0.05)

    return {
        "independent": (lambda off: culprits <= off, culprits.__eq__),
        "together": (lambda off: bool(culprits & off),
                     lambda found: len(found) == 1 and found <= culprits),
        "masked": (lambda off: culprits <= off and other not in off, culprits.__eq__),
        "breaking": (lambda off: None if other in off else culprits <= off,
                     culprits.__eq__),
        "doubtful 5 %": (noisy, culprits.__eq__),
    }


def measure(names: Sequence[str], sets: int, seed: int) -> list[tuple[object, ...]]:
    """Return a row for each kind of culprits and size."""
    sums: dict[tuple[str, int], list[float]] = {}
    for k in SIZES:
        for index in range(sets):
            state = random.Random(f"{seed}/{k}/{index}")
            order = list(names)
            for kind, (verdict, right) in kinds(order, k, state).items():
                wrong = 0.05 if kind.startswith("doubtful") else 0.0
                outcome = search(order, verdict, Plan(wrong=wrong, explore=400,
                                                      alternatives=False, seed=index))
                row = [outcome.search_trials, outcome.proof_trials,
                       sum(trial.probes for trial in outcome.trials),
                       bool(right(frozenset(outcome.minimal)) and outcome.proved)]
                for other in (ddmin, flit):
                    counted = Counted(verdict)
                    found = frozenset(other(order, counted))
                    row += [counted.count, bool(right(found))]
                before = sums.setdefault((kind, k), [0.0] * len(row))
                sums[kind, k] = [a + float(b) for a, b in zip(before, row)]
    return [(kind, k, *(total / sets for total in row))
            for (kind, k), row in sums.items()]


def injections(limit: int, seed: int) -> tuple[int, int, int, float, float]:
    """Inject faults into the switches that the backends really have.

    Every single one, and every pair (both must be off), of the emulator, XLA and
    Grappler, up to `limit` of each backend's pairs.

    Returns:
        Number of injections, sets named exactly, sets named that were wrong, mean runs
        of singles and of pairs, proof included.
    """
    counts = [0, 0, 0]
    runs: dict[int, list[int]] = {1: [], 2: []}
    for load in (EmulatorBackend, XlaBackend, GrapplerBackend):
        names = [f"{each.family}:{each.name}" for each in load().switches()]
        pairs = [(a, b) for place, a in enumerate(names) for b in names[place + 1:]]
        random.Random(seed).shuffle(pairs)
        for fault in [*((name,) for name in names), *pairs[:limit]]:
            culprits = frozenset(fault)
            outcome = search(names, lambda off, c=culprits: c <= off,
                             Plan(alternatives=False))
            exact = frozenset(outcome.minimal) == culprits and outcome.proved
            counts[0] += 1
            counts[1] += exact
            counts[2] += not exact and bool(outcome.minimal)
            runs[len(fault)].append(len(outcome.trials))
    means = [sum(each) / len(each) for each in (runs[1], runs[2])]
    return counts[0], counts[1], counts[2], means[0], means[1]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--switches", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    names = [f"switch{index}" for index in range(args.switches)]
    heads = ("culprits", "k", "search", "proof", "asked", "right", "ddmin", "right",
             "flit", "right")
    print(" ".join(f"{head:>12}" for head in heads), " bound")
    for kind, k, *row in sorted(measure(names, args.sets, args.seed)):
        cells = [f"{value:12.1%}" if place in (3, 5, 7) else f"{value:12.1f}"
                 for place, value in enumerate(row)]
        print(f"{kind:>12} {k:>12}", " ".join(cells),
              f"{lower_bound(args.switches, int(str(k))):6d}")
    total, exact, wrong, single, pair = injections(100000, args.seed)
    print(f"{total} faults injected into the switches of emulator, xla and grappler: "
          f"{exact} named exactly, {wrong} wrongly; {single:.1f} runs for one switch, "
          f"{pair:.1f} for a pair, proof included")


if __name__ == "__main__":
    main()
