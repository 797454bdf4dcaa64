"""What shows that a compiler was at work on the step of training, read when judged."""

from __future__ import annotations

import json
from pathlib import Path

from ge_harness.experiment.store import RunFolder
from ge_harness.experiments import mechanism
from ge_harness.records.experiment import MechanismEvidence
from ge_harness.records.run import Environment, RunRequest, RunSuccess
from ge_harness.records.switch import SwitchSetting
from ge_harness.records.tensor import Case
from ge_harness.records.training import TrainingResult
from ge_harness.switches import xla_flags

_WHAT = {"xla": "XLA fused operations of the step of training",
         "grappler": "Grappler rewrote the graph of the step of training",
         "ge": "GE built the graph of the step of training"}


def compiled(backend: str, result: TrainingResult, folder: RunFolder
             ) -> MechanismEvidence:
    """Return what the compiler left behind; never raises.

    Args:
        backend: "xla", "grappler" or "ge".
        result: of the compiled run.
        folder: of the experiment, for paths relative to it.
    """
    if backend == "grappler":
        return _rewritten(result, folder)
    found = mechanism.read(_as_run(backend, result))
    if not found.present:
        return MechanismEvidence(_WHAT[backend], found.problem,
                                 folder.relative(result.dump_dir), False)
    total = sum(count for _, count in found.ops)
    words = (f"{found.fused} fused kernels among {total} instructions; artifacts "
             f"{found.digest}")
    # GE may leave a graph unfused; that it built it is what makes the run a run of GE.
    ok = found.fused > 0 if backend == "xla" else True
    return MechanismEvidence(
        _WHAT[backend], "; ".join((words, *(note for note in result.notes
                                            if note.startswith("offload")))),
        folder.relative(found.source), ok)


def switches(backend: str, setting: SwitchSetting) -> list[MechanismEvidence]:
    """Return what is known of the passes that were switched off by name.

    XLA ignores a misspelt name without a word; the other compilers refuse it.
    """
    if backend != "xla":
        return []
    known = xla_flags.known_passes()
    found = []
    for switch in setting.off:
        nearest = xla_flags.nearest_pass(switch.name, ())
        words = "in the catalogue" if switch.name in known else (
            "not in the catalogue, and XLA ignores a misspelt name silently"
            + (f"; did you mean {nearest!r}?" if nearest else ""))
        found.append(MechanismEvidence(
            f"XLA has the pass {switch.name!r} that was switched off", words, "",
            switch.name in known))
    return found


def _rewritten(result: TrainingResult, folder: RunFolder) -> MechanismEvidence:
    path = result.graph_path
    try:
        counts = json.loads(Path(path).read_text(encoding="utf-8")) if path else {}
        before, after = dict(counts["before"]), dict(counts["after"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        return MechanismEvidence(_WHAT["grappler"], "the record of its graphs cannot "
                                 f"be read: {error!r}", folder.relative(path), False)
    changed = sorted(op for op in {*before, *after}
                     if before.get(op, 0) != after.get(op, 0))
    shown = ", ".join(f"{op} {before.get(op, 0)} to {after.get(op, 0)}"
                      for op in changed[:8])
    words = (f"{sum(before.values())} nodes before, {sum(after.values())} after "
             f"({shown})" if changed else "the graph it left is the graph it got")
    return MechanismEvidence(_WHAT["grappler"], words, folder.relative(path),
                             bool(changed))


def _as_run(backend: str, result: TrainingResult) -> RunSuccess:
    """Return a run that has the dumps of a training run, for the shared reader."""
    request = RunRequest(Case("gpt2", "", 0, "", (), (), ()), backend)
    return RunSuccess(request, (), (), True, result.dump_dir, (), (), result.sent, (),
                      0.0, Environment("", ""))
