"""From the request of a run to the plan of what goes to GE.

Everything that GE writes lies below the job's dumps folder: `graphs` (graph dumps),
`work` (working directory and ASCEND_WORK_PATH), `cache` (kernels), `plog` (logs),
`dump` (data dumps), `collect` (diagnostic run), and the switch files beside them.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Iterable

from ge_harness.errors import SwitchError
from ge_harness.records.ge import GePlan, GeRequest
from ge_harness.records.run import Mode, RunRequest
from ge_harness.report.plain import printable
from ge_harness.switches.ge_options import is_text
from ge_harness.switches.ge_plan import plan_ge

DATA_DUMPS = ("tensor", "stats")
# Enough to prove offload and options where no stage is asked for: GE's last stage.
_PROOF_DUMPS = {"DUMP_GE_GRAPH": "2", "DUMP_GRAPH_LEVEL": "3",
                "DUMP_GRAPH_FORMAT": "ge_proto"}


def dumps_dir(job_dir: Path) -> Path:
    """Return the folder below which GE writes."""
    return Path(job_dir) / "dumps"


def plan_of(request: RunRequest, job_dir: Path, route: str) -> GePlan:
    """Return the plan of a run.

    Args:
        request: its options may hold "chip", "device", "data_dump" ("tensor" or
            "stats"), "collect" ("on") and "grappler" ("on").
        job_dir: the job's folder.
        route: one of `ge_options.ROUTES`.

    Raises:
        SwitchError: something asked for cannot be sent.
        UnknownNameError: a name nobody knows.
    """
    options = dict(request.options)
    device = options.get("device", "0")
    if not device.isdigit():
        raise SwitchError(f"the device id is a whole number from 0, found {device!r}")
    data_dump = options.get("data_dump", "")
    if data_dump and data_dump not in DATA_DUMPS:
        raise SwitchError(f"--data-dump={data_dump}: expected one of "
                          f"{', '.join(DATA_DUMPS)}")
    _check_folder(str(job_dir))
    nodewise = request.mode is Mode.NODEWISE
    plan = plan_ge(request.setting, route, str(dumps_dir(job_dir)), GeRequest(
        chip=options.get("chip", ""), device=int(device), graph_dumps=True,
        data_dump="" if nodewise else data_dump,
        collect=options.get("collect") == "on" and not nodewise, nodewise=nodewise,
        grappler=options.get("grappler") == "on" and not nodewise,
        bfloat16=_all_bfloat16(request)))
    if request.want_dumps and not nodewise:
        return plan
    variables = {**dict(plan.environment), **_PROOF_DUMPS}
    return dataclasses.replace(plan, environment=tuple(sorted(variables.items())))


def _all_bfloat16(request: RunRequest) -> bool:
    dtypes = {port.spec.dtype for port in request.case.inputs}
    return {name for name in dtypes if "float" in name} == {"bfloat16"}


def _check_folder(folder: str) -> None:
    """Refuse a folder whose name no option of the adapter can carry."""
    if is_text(folder):
        return
    raise SwitchError(
        f"the run's folder {printable(folder, 200)!r} has control characters or bytes "
        "that are no text, which options of GE cannot carry; give another with "
        "--out=DIR")


def relative(pairs: Iterable[tuple[str, str]], folder: Path
             ) -> tuple[tuple[str, str], ...]:
    """Return pairs with the dumps folder written as "dumps", for the record."""
    return tuple((name, text.replace(str(folder), "dumps")) for name, text in pairs)
