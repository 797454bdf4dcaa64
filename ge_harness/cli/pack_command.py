"""`pack`: one archive with everything of a run worth sending to somebody."""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
from pathlib import Path
from typing import Mapping

from ge_harness.cli import console, exit_codes
from ge_harness.errors import UsageError
from ge_harness.experiment import redact
from ge_harness.experiment.pack import About, pack
from ge_harness.records import serialize
from ge_harness.records.pack import PackReport
from ge_harness.report.plain import printable

_MEGABYTE = 1 << 20
_SHOWN = 10
_MOST_MB = 1_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("run_dir", nargs="+", metavar="RUN_DIR",
                        help="folder of a run, finished or not; several go together")
    parser.add_argument("--out", default="", metavar="FILE",
                        help="the archive (default: RUN_DIR.zip beside the folder)")
    parser.add_argument("--max-mb", type=float, default=50.0, metavar="N",
                        help="largest size of the archive in megabytes (default 50)")
    parser.add_argument("--no-doctor", action="store_true",
                        help="leave out what 'doctor' says of this machine")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(args: argparse.Namespace) -> int:
    """Write the archive and say what is in it."""
    if not 0 < args.max_mb < _MOST_MB:
        raise UsageError(f"--max-mb={args.max_mb}: expected megabytes above zero and "
                         f"below {_MOST_MB}")
    folders = [Path(text) for text in args.run_dir]
    target = _target(args.out, folders[0])
    extra = [] if args.no_doctor else [("doctor.json", _doctor())]
    report = pack(folders, target, int(args.max_mb * _MEGABYTE),
                  about=_about(os.environ), extra=extra)
    if args.json:
        console.document("pack", report)
    else:
        console.answer(describe(report))
    return exit_codes.OK


def describe(report: PackReport) -> str:
    """Return what was packed as text."""
    lines = [f"packed: {report.archive} ({report.size_bytes / _MEGABYTE:.2f} MB, "
             f"{len(report.files)} files)",
             f"taken out of them: {report.removed} secrets, home paths and names; look "
             "it through before you send it, no filter knows every secret"]
    lines += [f"  left out: {one.path} ({one.size_bytes} bytes): {one.why}"
              for one in report.left_out[:_SHOWN]]
    more = len(report.left_out) - _SHOWN
    if more > 0:
        lines.append(f"  and {more} more files left out; MANIFEST.json lists them")
    return "\n".join(printable(line) for line in lines)


def _about(environ: Mapping[str, str]) -> About:
    """Return what names this user and machine, and the secrets that are set here."""
    home = os.path.expanduser("~")  # noqa: PTH111 - never raises
    users = {environ.get(name, "") for name in ("USER", "LOGNAME", "SUDO_USER")}
    hosts = {platform.node(), environ.get("HOSTNAME", "")}
    hosts |= {name.partition(".")[0] for name in hosts}
    return About(home, sorted((users | {Path(home).name}) - {""}), sorted(hosts - {""}),
                 [value for name, value in sorted(environ.items())
                  if redact.names_a_secret(name)])


def _target(asked: str, folder: Path) -> Path:
    if asked:
        return Path(asked)
    path = folder.resolve()
    number = 1
    while True:
        name = f"{path.name}{f'-{number}' if number > 1 else ''}.zip"
        target = path.with_name(name)
        if not target.exists():
            return target
        number += 1


def _doctor() -> str:
    from ge_harness.experiment.doctor import examine

    progress = console.Progress(8)
    try:
        with tempfile.TemporaryDirectory(prefix="ge_harness-doctor-") as folder:
            report = examine("", dict(os.environ), Path(folder), progress)
    finally:
        progress.close()
    return serialize.dumps("doctor", report)
