"""What GE and its adapter report, as kinds of failure with the way out.

An exception of `Session.run` carries GE's own text with a code; a bad option or a dead
device can also abort the process, which leaves its last words in the log only.

Source: reference: tf_adapter.md sections 2.1, 3, 4.4 and 10.
"""

from __future__ import annotations

import re

from ge_harness.records.run import FailureKind
from ge_harness.report.plain import printable

_CODE = re.compile(r"\b(?:E\d{5}|E[A-Z]\d{4})\b")
_LONGEST = 600

# Code -> (kind or None to go by the step that failed, what it means, the way out).
_CODES: dict[str, tuple[FailureKind | None, str]] = {
    "E10001": (FailureKind.INVALID_SWITCH, "GE refuses the value of an option"),
    "E10004": (FailureKind.INVALID_SWITCH, "an option is empty"),
    "E10051": (FailureKind.INVALID_SWITCH, "JOB_ID is too long"),
    "E10055": (FailureKind.INVALID_SWITCH, "this product does not support an option"),
    "E10056": (FailureKind.INVALID_SWITCH,
               "precision_mode and precision_mode_v2 are both set"),
    "E10058": (FailureKind.INVALID_SWITCH, "dump_path is missing"),
    "E10059": (FailureKind.INVALID_SWITCH, "an option without a name"),
    "E10060": (FailureKind.INVALID_SWITCH, "auto_tune_mode is gone from GE"),
    "E10062": (None, "calls in the wrong order: GE was not up"),
    "E13000": (None, "a path cannot be used"),
    "E13024": (FailureKind.UNAVAILABLE,
               "an environment variable is wrong; source <cann>/set_env.sh"),
    "E13026": (FailureKind.UNAVAILABLE,
               "no operator library; source <cann>/set_env.sh"),
    "E13010": (FailureKind.COMPILE, "the adapter has no parser for an op"),
    "E10501": (FailureKind.UNAVAILABLE,
               "an op has no prototype; check ASCEND_OPP_PATH and the ops package"),
    "EZ0501": (FailureKind.UNAVAILABLE,
               "an op has no prototype; check ASCEND_OPP_PATH and the ops package"),
    "EZ9010": (FailureKind.COMPILE, "the adapter has no parser for an op"),
    "EZ3002": (FailureKind.COMPILE, "an op does not support this dtype or format"),
    "EZ3003": (FailureKind.COMPILE, "no engine takes an op (also where it needs "
               "constant folding, which O0 turns off)"),
    "EZ1008": (FailureKind.COMPILE, "an op has no deterministic version; "
               "--ge-option=deterministic=0 runs it"),
    "E20001": (FailureKind.COMPILE, "an op does not compile"),
    "E20007": (FailureKind.COMPILE, "a fusion pass failed"),
    "E20101": (FailureKind.INVALID_SWITCH, "the fusion engine refuses an option"),
    "E20103": (FailureKind.INVALID_SWITCH, "aicore_num is wrong"),
    "E21001": (FailureKind.INVALID_SWITCH, "a switch file cannot be opened"),
    "E21002": (FailureKind.INVALID_SWITCH, "a switch file cannot be parsed"),
    "E40001": (FailureKind.UNAVAILABLE, "environment of the op compiler"),
    "E40002": (FailureKind.UNAVAILABLE, "Python version of the op compiler"),
    "E40020": (FailureKind.UNAVAILABLE, "the op compiler cannot import its Python; "
               "install pandas decorator sympy scipy attrs psutil"),
    "E40021": (FailureKind.COMPILE, "an op does not compile"),
    "E40022": (FailureKind.INVALID_SWITCH, "the op compiler refuses an option"),
    "E40023": (FailureKind.INVALID_SWITCH, "the op compiler cannot use a path"),
    "EE1001": (FailureKind.UNAVAILABLE, "a bad argument of the runtime, usually the "
               "device id; check ASCEND_DEVICE_ID"),
    "EJ0001": (FailureKind.UNAVAILABLE, "another process holds the device; wait 10 s "
               "after it ends"),
}
_REFUSED = re.compile(
    r"option \S+ value '.*' is invalid|can not be assigned at the same time|data type "
    r"of \S+ is invalid|dump_path must be set|is not directory|read, write permissions|"
    r"dump_step string style is error|dump_data should be")
# Steps in the adapter's words, the telling ones first.
_STEPS = (
    ("Initialize ge failed", FailureKind.UNAVAILABLE, "GE does not start"),
    ("graph parse failed", FailureKind.COMPILE, "the adapter cannot parse the graph"),
    ("GE session build graph failed", FailureKind.COMPILE, "GE cannot compile"),
    ("session add graph failed", FailureKind.COMPILE, "GE does not take the graph"),
    ("RunGraphAsync", FailureKind.RUN, "GE failed while running"),
    ("DoRunAsync", FailureKind.RUN, "GE failed while running"),
    ("Get ge session failed", FailureKind.UNAVAILABLE, "GE has no session"),
    ("GeOp not Initialize success", FailureKind.UNAVAILABLE, "GE does not start"),
    ("Outputs num mismatched", FailureKind.GARBAGE, "GE gave other outputs than asked"),
)
# What stands before an abort (SIGABRT), which raises no exception.
_ABORTS = (
    (re.compile(r"ASCEND_DEVICE_ID is invalid[^\n]*"), FailureKind.UNAVAILABLE,
     "set ASCEND_DEVICE_ID to a logical id"),
    (re.compile(r"\[GePlugin\] (?:Tdt host init|Initialize parser|Initialize ge) "
                r"failed[^\n]*"), FailureKind.UNAVAILABLE,
     "'doctor --backend=ge' checks driver, device and libraries"),
    (re.compile(r"[^\n]*(?:graph_run_mode value must be|iterator_per_loop should be|"
                r"dynamic config can not use|dump mode should be one of|"
                r"should use together)[^\n]*"), FailureKind.INVALID_SWITCH,
     "the adapter aborts on a bad option"),
)


def explain(text: str) -> tuple[FailureKind | None, str]:
    """Return the kind of a failure and one line about it.

    Args:
        text: what an exception of `Session.run` says.

    Returns:
        The kind, None where nothing in the text tells it; the codes found, what they
        mean, and GE's own words, on one line.
    """
    codes = list(dict.fromkeys(_CODE.findall(text)))
    known = [code for code in codes if code in _CODES]
    step = next(((kind, words) for mark, kind, words in _STEPS if mark in text), None)
    kind = next((_CODES[code][0] for code in known if _CODES[code][0]), None)
    if kind is None and _REFUSED.search(text):
        kind = FailureKind.INVALID_SWITCH
    if kind is None and step is not None:
        kind = step[0]
    meaning = [f"{code}: {_CODES[code][1]}" for code in known]
    if step is not None:
        meaning.insert(0, step[1])
    said = printable(_telling(text), _LONGEST)
    return kind, "; ".join([*meaning, f"it says: {said}"] if meaning else [said])


def abort_reason(log: str) -> tuple[FailureKind, str] | None:
    """Return why the adapter aborted the process, None where its log does not tell.

    Args:
        log: the end of the worker's log.
    """
    for pattern, kind, way_out in _ABORTS:
        found = pattern.findall(log)
        if found:
            return kind, (f"the adapter aborted the process: "
                          f"{printable(found[-1].strip(), 300)}; {way_out}")
    return None


def _telling(text: str) -> str:
    """Return the lines that hold a code, else the first line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    coded = [line for line in lines if _CODE.search(line)]
    chosen = coded[:3] or lines[:1]
    if coded and lines[0] not in chosen:
        chosen.insert(0, lines[0])
    return " / ".join(chosen)
