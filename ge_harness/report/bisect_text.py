"""A bisection as text: the verdict first, then what to write where, then what shows it.

The figures of the emulator never stand without the word EMULATED.
"""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from ge_harness.report.plain import printable, table

STATES = {True: "agrees", False: "differs", None: "undecided"}
FILES = (
    ("optimization_switch", "GE's option optimization_switch"),
    ("fusion_switch_cfg", "switch file of GE's fusion engine"),
    ("autofuse_flags", "AUTOFUSE_FLAGS"), ("autofuse_dfx_flags", "AUTOFUSE_DFX_FLAGS"),
    ("skip_node_names_cfg", "operators AutoFuse leaves alone"),
    ("xla_flags", "XLA_FLAGS"), ("session_config", "lines for the session"),
)
_SHOWN_SWITCHES = 6
ONLY = ("with everything else off and one of these on it differs: every set that "
        "agrees has them all, unless switching a pass off makes a difference itself")


def bisect_text(document: Mapping[str, Any]) -> str:
    """Return the text of a bisection.

    Args:
        document: a Bisection as plain data.
    """
    parts = [headline(document), _culprits(document), _proof(document),
             _alternatives(document), _notes(document), _files(document),
             _commands(document), _runs(document)]
    return "\n".join(part for part in parts if part).rstrip() + "\n"


def headline(document: Mapping[str, Any]) -> str:
    """Return the verdict in plain words."""
    label = "EMULATED: " if document["backend"]["emulated"] else ""
    word = document["verdict"].upper().replace("_", " ")
    return printable(f"{label}{word}: {document['why']}")


def line(run: Mapping[str, Any]) -> str:
    """Return one trial as a line of progress."""
    names = run["switches"]
    shown = ", ".join(names[:_SHOWN_SWITCHES]) or "nothing"
    more = f" and {len(names) - _SHOWN_SWITCHES} more" if (
        len(names) > _SHOWN_SWITCHES) else ""
    why = f" ({run['message']})" if run["agrees"] is None and run["message"] else ""
    return printable(f"run {run['number']}: off: {shown}{more}: "
                     f"{STATES[run['agrees']]}{why}", 400)


def _culprits(document: Mapping[str, Any]) -> str:
    backend = document["backend"]
    base = f", base line {document['baseline']}" if document["baseline"] else ""
    lines = [printable(
        f"goal {document['goal']}{base}, by {document['granularity']}; "
        f"{document['switch_count']} switches of {backend['name']} "
        f"({backend['label']}) searched")]
    if document["minimal"]:
        lines += ["", "switch off"]
        lines.append(table(
            ("kind", "name", "class", "how to write it"),
            [(each["kind"], each["name"], each["precision_class"], each["write"])
             for each in document["minimal"]], widest=110))
    return "\n".join(lines)


def _proof(document: Mapping[str, Any]) -> str:
    proof = document["proof"]
    others = proof["runs"] - proof["search_runs"] - proof["proof_runs"]
    count = (f"{proof['runs']} runs: {proof['search_runs']} to find the set, "
             f"{proof['proof_runs']} more to prove it, {others} to look for other sets "
             "(to find and prove it without a hint takes no fewer than "
             f"{proof['lower_bound']} on the average)")
    if not document["minimal"]:
        return f"{proof['runs']} runs"
    lines = ["with exactly this off: " + STATES[proof["with_minimal_off"]]]
    for each in proof["each_needed"]:
        state = STATES[each["agrees_with_it_on"]] if each["tried"] else "not tried"
        lines.append(printable(f"with {each['kind']}:{each['name']} left on: {state}"))
    if proof["only_set"]:
        lines.append(ONLY)
    if proof["error_probability"]:
        lines.append("chance that a verdict is wrong: at most "
                     f"{proof['error_probability']:.2g}")
    return "\n".join([*lines, count])


def _alternatives(document: Mapping[str, Any]) -> str:
    lines = [printable("instead: " + " and ".join(
        f"{each['kind']}:{each['name']}" for each in one))
        for one in document["alternatives"]]
    return "\n".join(lines)


def _notes(document: Mapping[str, Any]) -> str:
    return "\n".join(printable(f"note: {text}") for text in document["notes"])


def _files(document: Mapping[str, Any]) -> str:
    found = [(what, document["files"][name]) for name, what in FILES
             if document["files"][name]]
    if not found:
        return ""
    lines = ["", "ready to use"]
    for what, file in found:
        lines.append(printable(f"{what}: {file['path']}"))
        lines += [printable(f"    {text}") for text in file["content"].splitlines()]
    return "\n".join(lines)


def _commands(document: Mapping[str, Any]) -> str:
    if not document["reproduce"]:
        return ""
    lines = ["", "see it for yourself"]
    for each in document["reproduce"]:
        lines.append(printable(f"{each['what']}: {STATES[each['agrees']]}"))
        lines.append(printable(f"    {each['command']}"))
    return "\n".join(lines)


def _runs(document: Mapping[str, Any]) -> str:
    rows: Sequence[Sequence[object]] = [
        (run["number"], STATES[run["agrees"]], len(run["switches"]),
         ", ".join(run["switches"]), run["duration_s"], run["message"])
        for run in document["runs"]]
    return "\nruns\n" + table(
        ("run", "verdict", "off", "switches", "seconds", "why"), rows)
