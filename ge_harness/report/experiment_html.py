"""The test report of the experiments: one file, no network, every text escaped.

Figures are drawn by matplotlib where it is installed; without it the page says so and
has everything else.
"""

from __future__ import annotations

import base64
import io
from typing import Any, Mapping, Sequence

from ge_harness.report import experiment_text, page, plain

_LONGEST_TEXT = 1200
_COLORS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#8c564b", "#ff7f0e")


def render(reports: Sequence[Mapping[str, Any]], skipped: Sequence[str] = ()) -> str:
    """Return the page.

    Args:
        reports: `experiment` documents as plain data.
        skipped: sentences on what was not run.

    Raises:
        UnavailableError: the extra `report` is not installed.
    """
    environment = page.environment(_LONGEST_TEXT)
    environment.globals.update(
        figure=lambda item, emulated: page.markup(figure(item, emulated=emulated)),
        cell=lambda value: plain.number(experiment_text.cell(value)),
        plots=_can_plot(), extra=page.EXTRA)
    columns, rows = experiment_text.side_by_side(reports, "claim")
    return str(environment.get_template("experiment.html").render(
        reports=sorted(reports, key=lambda r: (r["id"], r["backend"]["name"])),
        columns=columns, rows=rows, skipped=list(skipped)))


def figure(item: Mapping[str, Any], *, emulated: bool = False) -> str:
    """Return a figure as the address of an image inside the page, "" without plots.

    As an image its text can run nothing, whatever names it holds.

    Args:
        item: figure of an `experiment` document.
        emulated: its numbers come from a model; the image says so wherever it is
            copied to.
    """
    if not _can_plot():
        return ""
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(7.2, 3.2))
    FigureCanvasSVG(drawing)
    axes = drawing.add_subplot(111)
    _draw(axes, item)
    axes.set_xlabel(_text(item["x_label"]))
    axes.set_ylabel(_text(item["y_label"]))
    axes.set_title(("EMULATED: " if emulated else "") + _text(item["title"]),
                   fontsize=9)
    if len(item["series"]) > 1:
        axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1.0))
    axes.grid(True, alpha=0.3)
    out = io.BytesIO()
    # Text as text, not as outlines: a sixth of the size. The salt fixes the ids.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "ge_harness"}):
        drawing.savefig(out, format="svg", bbox_inches="tight",
                        metadata={"Date": None})
    return "data:image/svg+xml;base64," + base64.b64encode(out.getvalue()).decode()


def _draw(axes: Any, item: Mapping[str, Any]) -> None:
    width = 0.8 / max(1, len(item["series"]))
    for place, (name, heights) in enumerate(sorted(item["series"].items())):
        color = _COLORS[place % len(_COLORS)]
        x = [float(each) for each in item["x"]]
        y = [float(each) for each in heights]
        if item["kind"] == "bars":
            axes.bar([each + place * width for each in x], y, width,
                     label=_text(name), color=color)
            axes.set_yscale("symlog")
        else:
            axes.plot(x, y, label=_text(name), color=color)
    if item["log_x"]:
        axes.set_xscale("log")
    names = item.get("x_names") or ()
    if names:
        middle = width * (len(item["series"]) - 1) / 2
        axes.set_xticks([float(each) + middle for each in item["x"]])
        axes.set_xticklabels([_text(name) for name in names], rotation=20, ha="right",
                             fontsize=8)


def _text(text: str) -> str:
    """Return a text that matplotlib takes for no formula."""
    return plain.printable(text, 120).replace("$", r"\$")


def _can_plot() -> bool:
    try:
        import matplotlib
    except ImportError:
        return False
    return bool(matplotlib.__version__)
