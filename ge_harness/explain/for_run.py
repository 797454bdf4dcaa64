"""The explanation of a finished run, from the outcomes of its sides."""

from __future__ import annotations

from pathlib import Path
from typing import Mapping

from dumps.errors import DumpError
from ge_harness.explain.explain import Sides, explain
from ge_harness.explain.kernels import Kernels
from ge_harness.interpreter.errors import EvaluationError, GraphRaisedError
from ge_harness.records.explanation import Explanation
from ge_harness.records.run import RunFailure, RunSuccess

Outcomes = Mapping[str, "RunSuccess | RunFailure"]
_NOT_BASE = ("candidate", "reference", "diagnostic")
_NO_KERNELS = ("eager", "reference")


def explain_run(outcomes: Outcomes, job_root: Path) -> Explanation:
    """Explain the candidate's bits against the base lines of a run.

    Never raises for what the run or its graph lacks: the explanation then says why it
    is not possible.

    Args:
        outcomes: "candidate", base lines by name, and others, which are left out.
        job_root: folder for the jobs that run single kernels.
    """
    candidate = outcomes["candidate"]
    if isinstance(candidate, RunFailure) or not candidate.repeatable:
        return _impossible("the candidate gave no outputs that repeat themselves")
    baselines = {name: side.output_paths for name, side in outcomes.items()
                 if name not in _NOT_BASE and isinstance(side, RunSuccess)
                 and side.repeatable}
    if not baselines:
        return _impossible("no base line gave outputs that repeat themselves")
    request = candidate.request
    kernels = None
    if request.backend not in _NO_KERNELS:
        kernels = Kernels(request, Path(job_root))
    sides = Sides(
        case=request.case, candidate=candidate.output_paths, baselines=baselines,
        tensorflow=candidate.environment.tensorflow,
        dump_dir=Path(candidate.dump_dir) if candidate.dump_dir else None,
        passes=tuple(item.name for item in candidate.passes))
    try:
        return explain(sides, kernels)
    except (EvaluationError, GraphRaisedError, DumpError) as error:
        return _impossible(str(error))


def _impossible(reason: str) -> Explanation:
    return Explanation(status="not possible", notes=(reason,))
