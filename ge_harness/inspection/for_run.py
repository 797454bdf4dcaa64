"""The active passes of a run, from the dumps it left."""

from __future__ import annotations

from pathlib import Path

from dumps.errors import DumpError
from ge_harness.inspection.gather import gather
from ge_harness.records.inspection import PassFinding
from ge_harness.records.switch import ActivePass


def active_passes(dump_dir: str | Path, *, ran_too: bool = False) -> tuple[
        ActivePass, ...]:
    """Return the passes that the dumps below a folder show, most telling first.

    Args:
        dump_dir: folder of dumps; one that is missing or holds none shows no pass.
        ran_too: also return passes of which a log only says that they ran.
    """
    try:
        found = gather(dump_dir)
    except DumpError:
        return ()
    return tuple(to_active(each) for each in found.passes.active
                 if ran_too or any(one.shows_change for one in each.evidence))


def to_active(finding: PassFinding) -> ActivePass:
    """Return a finding as the record of a run."""
    first = finding.evidence[0]
    place = f"{Path(first.path).name}:{first.line}" if first.line else (
        Path(first.path).name)
    return ActivePass(
        finding.family, finding.name, finding.stage, finding.precision_class,
        finding.certainty,
        f"{finding.strength} ({finding.standing}): {first.text} [{place}]",
        finding.switch_off, finding.dtypes, finding.ops, finding.match_times,
        finding.effect_times, finding.level)
