"""The text of an explanation, made from the `explained` part of a run document."""

from __future__ import annotations

from typing import Any, Mapping

from ge_harness.report.plain import printable, table

Document = Mapping[str, Any]
_SHOWN_ROWS = 40
_STATUS = {
    "explained": "explained", "partly": "explained in part",
    "unexplained": "not explained", "equal": "nothing differs",
    "not possible": "no explanation is possible",
}


def explain_text(explained: Document | None, *, emulated: bool = False) -> str:
    """Return an explanation as text, "" where none was asked for.

    Args:
        explained: as in the `run` document, None where none was asked for.
        emulated: the candidate's figures are a model's.
    """
    if not explained:
        return ""
    label = " (EMULATED)" if emulated else ""
    lines = [f"explained bits{label}: {_STATUS.get(explained['status'], '?')}"]
    lines += [f"  {pair_words(name, pair)}"
              for name, pair in sorted(explained["vs_baseline"].items())]
    lines += [f"  {output_words(output)}" for output in explained["outputs"]]
    lines += [f"  base line {name}: {side_words(side)}"
              for name, side in sorted(explained["baselines"].items())]
    if explained["outputs"]:
        lines.append(f"  {effort_words(explained)}")
    lines += [f"  note: {note}" for note in explained["notes"]]
    return "\n".join(printable(line) for line in lines) + "\n" + _rows(explained)


def pair_words(name: str, pair: Document) -> str:
    """Return the shares of one base line in one line."""
    if not pair["differing"]:
        return f"against {name}: no element differs"
    return (f"against {name}: {pair['reproduced']} of {pair['differing']} differing "
            f"elements reproduced bit for bit ({_percent(pair['share'])}), "
            f"{_percent(pair['unexplained'])} unexplained")


def output_words(output: Document) -> str:
    """Return one output in one line."""
    words = (f"output {output['name']}: {output['reproduced']} of {output['count']} "
             f"elements have the model's bits ({_percent(output['share'])})")
    if output["first_unexplained"] is not None:
        words += (f"; first unexplained: flat index {output['first_unexplained']}")
    return words


def side_words(side: Document) -> str:
    """Return what reproduces a base line in one line."""
    words = f"{side['plain']} of {side['count']} elements by rounding after each op"
    if side["hypotheses"]:
        found = ", ".join(hypothesis_words(item) for item in side["hypotheses"])
        words += f", {side['reproduced']} with {found}"
    return words


def hypothesis_words(item: Document) -> str:
    """Return one hypothesis in a few words."""
    kind, node, value = item["kind"], item["node"], item["value"]
    if kind == "unrounded edge":
        return f"no rounding from {item['source']} to {node} ({item['place']})"
    if kind == "unrounded step":
        return f"no rounding of the {item['place']} inside {node}"
    if kind == "contraction":
        return f"{item['source']} and {node} in one fused multiply-add"
    if kind == "distribution":
        return (f"{item['source']} and {node} in one fused multiply-add, "
                "(x + 1) * y as x * y + y")
    if kind == "reassociation":
        factor = "first" if value.startswith("input 0") else "second"
        return (f"the product of {item['source']} and {node} in another order, the "
                f"{factor} factor of {item['source']} last")
    words = {"sum": "sums", "product sum": "adds its products", "algorithm": "is",
             "kernel": "by the compiler's kernel"}
    if value in ("in float32", "in its own dtype"):
        kind = "kernel"
    if kind == "reciprocal":
        return f"{node} multiplies by the reciprocal"
    return f"{node} {words.get(kind, kind)} {value}"


def effort_words(explained: Document) -> str:
    """Return what the search took in one line."""
    return (f"{explained['evaluations']} evaluations (limit "
            f"{explained['evaluation_limit']}), {explained['kernel_runs']} runs of "
            "single kernels; with no hypothesis the model has the bits of "
            f"{explained['plain']} elements")


def evidence_words(item: Document) -> str:
    """Return the evidence of a hypothesis and what fits as well."""
    words = item["evidence"] or "the bits alone"
    if item["alternatives"]:
        words += "; as many with " + " or ".join(item["alternatives"])
    return words


def _rows(explained: Document) -> str:
    if not explained["hypotheses"]:
        return ""
    rows = [(hypothesis_words(item), item["gained"], evidence_words(item))
            for item in explained["hypotheses"][:_SHOWN_ROWS]]
    more = len(explained["hypotheses"]) - len(rows)
    tail = f"... and {more} more (--json has all)\n" if more > 0 else ""
    return table(("hypothesis", "elements lost without", "evidence"), rows,
                 widest=90) + tail


def _percent(share: float | None) -> str:
    """Return a share in percent that says 0 or 100 only of nothing or everything."""
    if share is None:
        return "-"
    if 0 < share < 1:
        return f"{min(max(100 * share, 0.01), 99.99):.2f} %"
    return f"{100 * share:.0f} %"
