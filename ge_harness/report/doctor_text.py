"""What `doctor` prints for people."""

from __future__ import annotations

from ge_harness.records.doctor import BackendHealth, DoctorReport
from ge_harness.report.plain import printable, table


def describe(report: DoctorReport) -> str:
    """Return every check of every backend, then what works."""
    parts = [f"Python {report.python} on {report.platform}\n"]
    parts += [_backend(one) for one in report.backends]
    rows = [(one.name, "usable" if one.usable else "not usable", one.reason)
            for one in report.backends]
    parts.append(table(("backend", "here", "why"), rows, widest=100))
    parts.append(_verdict(report) + "\n")
    return "\n".join(parts)


def _backend(one: BackendHealth) -> str:
    lines = [f"{one.name}: {printable(one.label, 120)}"]
    for check in one.checks:
        lines.append(f"  {check.status:4}  {check.what}: {printable(check.found, 300)}")
        if check.mend and check.status != "ok":
            lines.append(f"        {printable(check.mend, 300)}")
    return "\n".join(lines) + "\n"


def _verdict(report: DoctorReport) -> str:
    usable = [one.name for one in report.backends if one.usable]
    if report.works:
        return "usable here: " + ", ".join(usable)
    if report.asked:
        return f"{report.asked} is not usable here"
    return "no compiler backend is usable here"
