"""The terminal text of one run and of many, made from the run document alone."""

from __future__ import annotations

from typing import Any, Iterable, Mapping, Sequence

from ge_harness.report.explain_text import explain_text
from ge_harness.report.plain import number, printable, table

Document = Mapping[str, Any]
VERDICT_WORDS = {
    "agrees": "AGREES", "differs": "DIFFERS", "outcome_mismatch": "OUTCOME MISMATCH",
    "not_deterministic": "NOT DETERMINISTIC", "invalid_switch": "INVALID SWITCH",
    "unavailable": "UNAVAILABLE", "undecided": "UNDECIDED",
}
_SHOWN_ROWS = 30


def run_text(run: Document) -> str:
    """Return one run as text: backend and switches, passes, outputs, suspects, verdict.

    Args:
        run: the `run` document as plain data.
    """
    parts = [_head(run), _switches(run), _sides(run), _passes(run), _outputs(run),
             _reference(run), _suspects(run),
             explain_text(run.get("explained"), emulated=run["backend"]["emulated"]),
             _verdict(run)]
    return "\n".join(part for part in parts if part)


def summary_table(runs: Sequence[Document]) -> str:
    """Return the verdict table of many runs."""
    rows = []
    for run in runs:
        outputs = run["outputs"]
        ulp = [output["ulp"]["max"] for output in outputs if output["ulp"]]
        nearest = ", ".join(sorted({o["nearest"] for o in outputs if o["nearest"]}))
        rows.append((
            run["subgraph"], run["backend"]["name"], run["variant"],
            VERDICT_WORDS[run["verdict"]].lower(), _nodewise(run),
            max((u for u in ulp if u is not None), default=None), nearest or "-",
            ", ".join(s["name"] for s in run["suspects"][:3]) or "-"))
    return table(("subgraph", "backend", "variant", "against eager",
                  "against nodewise", "max ULP", "nearest to fp64", "suspects"), rows,
                 widest=44)


def backend_line(run: Document) -> str:
    """Return the line that says what the figures are."""
    backend = run["backend"]
    emulated = "EMULATED " if backend["emulated"] else ""
    return printable(f"{emulated}{backend['name']}: {backend['label']} "
                     f"({backend['reason']})")


def ulp_words(ulp: Mapping[str, Any] | None) -> str:
    """Return the distances in one phrase."""
    if not ulp or ulp.get("max") is None:
        return "no ULP"
    shares = (f"{share(ulp['share_0'])} equal, {share(ulp['share_1'])} by 1, "
              f"{share(ulp['share_2plus'])} by 2 or more")
    kind = ulp.get("share_kind") or 0
    extra = f", {share(kind)} changed kind" if kind else ""
    return (f"ULP max {ulp['max']}, p99 {number(ulp['p99'])}, p50 {number(ulp['p50'])} "
            f"({shares}{extra})")


def share(value: float | None) -> str:
    """Return a share as a percentage that never rounds a rest away."""
    if value is None:
        return "-"
    percent = 100.0 * value
    if 0 < percent < 0.01:
        return "<0.01 %"
    if 99.99 < percent < 100:
        return ">99.99 %"
    return f"{percent:.4g} %"


def _head(run: Document) -> str:
    lines = [backend_line(run),
             f"subgraph {run['subgraph']} ({run['variant']}), seed {run['seed']}, "
             f"{run['set_count']} input set(s)"]
    return "\n".join(printable(line) for line in lines) + "\n"


def _switches(run: Document) -> str:
    asked, sent = run["switches"]["asked"], run["switches"]["sent"]
    lines = [f"switches asked: {_pairs(asked) or 'none'}"]
    lines += [f"  sent: {name}={value}" for name, value in sorted(sent.items())]
    for side in run["sides"]:
        if side["name"] == "candidate":
            lines += [f"  {e['switch']['family']} {e['switch']['name']} {e['asked']}: "
                      f"{e['status']} ({e['evidence']})" for e in side["effects"]]
    return "\n".join(printable(line) for line in lines) + "\n"


def _sides(run: Document) -> str:
    rows = [(side["name"], side["backend"], side["mode"], side["status"],
             side["repeatable"], side["duration_s"]) for side in run["sides"]]
    notes = [f"  {side['name']}: {note}" for side in run["sides"]
             for note in side["notes"]]
    messages = [f"  {side['name']}: {side['message']}" for side in run["sides"]
                if side["message"]]
    text = table(("side", "backend", "mode", "outcome", "repeats itself", "seconds"),
                 rows)
    return text + "".join(printable(line) + "\n" for line in messages + notes)


def _passes(run: Document) -> str:
    if not run["passes"]:
        return "active passes: none seen\n"
    rows = [(p["family"], p["name"], p["precision_class"], p["certainty"],
             ", ".join(p["dtypes"]) or "-", p["switch_off"] or "no switch",
             p["evidence"]) for p in run["passes"][:_SHOWN_ROWS]]
    more = len(run["passes"]) - len(rows)
    tail = f"... and {more} more (--json has all)\n" if more > 0 else ""
    return "active passes\n" + table(
        ("family", "pass", "class", "certainty", "dtypes", "switch off", "evidence"),
        rows, widest=72) + tail


def _outputs(run: Document) -> str:
    lines = []
    for output in run["outputs"]:
        lines.append(f"output {output['name']} {output['dtype']}{output['shape']}")
        for name, pair in sorted(output["vs_baseline"].items()):
            lines.append(f"  against {name}: {pair_words(pair)}")
    return "\n".join(printable(line) for line in lines) + "\n" if lines else ""


def pair_words(pair: Mapping[str, Any]) -> str:
    """Return one comparison in one line."""
    if pair["status"] == "equal":
        return f"bit-equal, all {pair['count']} elements"
    if pair["status"] in ("shape_mismatch", "dtype_mismatch", "unreadable"):
        return f"{pair['status'].replace('_', ' ')}: {'; '.join(pair['notes'])}"
    words = [f"{pair['bit_mismatch_count']} of {pair['count']} elements differ in bits",
             f"{pair['mismatch_count']} in value"]
    changed = pair["nonfinite"]["changed"]
    if changed:
        kinds = [f"{count} {name.replace('_vs_', ' against ').replace('_', ' ')}"
                 for name, count in sorted(pair["nonfinite"].items())
                 if ("_vs_" in name or name == "inf_sign") and count]
        words.append(f"{changed} changed kind ({', '.join(kinds)})")
    words.append(ulp_words(pair["ulp"]))
    words.append(f"max abs {number(pair['abs']['max'])}")
    return "; ".join(words) + _worst(pair)


def _worst(pair: Mapping[str, Any]) -> str:
    if not pair["worst"]:
        return ""
    worst = pair["worst"][0]
    return (f"; worst at {worst['index']}: {number(worst['a'])} ({worst['a_bits']}) "
            f"against {number(worst['b'])} ({worst['b_bits']})")


def _reference(run: Document) -> str:
    rows = []
    for output in run["outputs"]:
        for side, stats in sorted(output["vs_reference"].items()):
            rows.append((output["name"], side, stats["ulp"]["mean"],
                         stats["ulp"]["p99"], stats["ulp"]["max"],
                         stats["abs"]["max"], stats["rel"]["max"],
                         stats["nonfinite"]["changed"],
                         "nearest" if side in output["nearest"].split(", ") else ""))
    if not rows:
        return ""
    return "errors against the float64 reference\n" + table(
        ("output", "side", "mean ULP", "p99 ULP", "max ULP", "max abs", "max rel",
         "kind changed", ""), rows)


def _suspects(run: Document) -> str:
    lines = [run["explanation"]] if run["explanation"] else []
    for item in run["suspects"]:
        off = item["switch_off"] or "no switch reaches it"
        lines.append(f"  {item['family']} {item['name']}: {item['reason']}; "
                     f"off with {off}")
    return "\n".join(printable(line) for line in lines) + "\n" if lines else ""


def _verdict(run: Document) -> str:
    emulated = " (EMULATED)" if run["backend"]["emulated"] else ""
    rule = f"[standard {run['standard']}, base line {run['baseline']}]"
    words = VERDICT_WORDS[run["verdict"]]
    return printable(f"{words}{emulated}: {run['why']} {rule}") + "\n"


def _nodewise(run: Document) -> str:
    pairs = [output["vs_baseline"].get("nodewise") for output in run["outputs"]]
    known = [pair for pair in pairs if pair]
    if not known:
        return "-"
    return "equal" if all(pair["status"] == "equal" for pair in known) else "differs"


def _pairs(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={_flat(value)}" for name, value in sorted(values.items()))


def _flat(value: Any) -> str:
    if isinstance(value, Iterable) and not isinstance(value, str):
        return "+".join(str(item) for item in value)
    return str(value)
