"""Open a dump in netron where that is installed and can read the format."""

from __future__ import annotations

from dumps.series import Series
from ge_harness.cli import console
from ge_harness.errors import UnavailableError

# netron reads ONNX and TensorFlow graphs as text; it has no reader for GE's own form.
_READABLE = ("ge_onnx", "tf_pbtxt")


def open_viewer(series: Series) -> None:
    """Open the last stage that has a file netron can read.

    Raises:
        UnavailableError: netron is not installed, or no file is of such a format.
    """
    path = _last(series)
    if not path:
        raise UnavailableError(
            "netron reads ge_onnx and TensorFlow graphs; none is here (GE writes "
            "ge_onnx when DUMP_GRAPH_FORMAT names onnx or is unset)")
    try:
        import netron
    except ImportError as error:
        raise UnavailableError(
            "netron is not installed: pip install netron, or read the page that "
            "--html=FILE writes") from error
    console.note(f"netron shows {path}; Ctrl-C ends it")
    netron.start(path)
    netron.wait()


def _last(series: Series) -> str:
    for graph in reversed(series.graphs):
        for stage in reversed(graph.stages):
            if stage.format in _READABLE:
                return stage.path
            for twin in stage.twins:
                if twin.endswith((".pbtxt", ".pbtxt.gz")):
                    return twin
    return ""
