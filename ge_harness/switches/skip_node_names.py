"""The file behind --skip_node_names_cfg: operators that AutoFuse leaves alone.

Source: reference: autofuse_flags.md section 7; behaviour checked against hicann/ge
compiler/graph/optimize/autofuse/autofuse/utils/auto_fuse_config.h.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ge_harness.errors import SwitchError, UsageError, nearest_name
from ge_harness.report.plain import printable

_BLANKS = " \t\r\n"
_TYPE = "ByNodeType"
_NAME = "ByNodeName"
_TF_NAMES = {
    "Sum": "ReduceSum", "Mean": "ReduceMean", "Max": "ReduceMax", "Min": "ReduceMin",
    "Prod": "ReduceProd", "Softmax": "SoftmaxV2",
}


@dataclass(frozen=True)
class SkipNodeNames:
    """What is left out of fusion.

    Attributes:
        types: GE operator types, e.g. "ReduceSum" (not TensorFlow's "Sum").
        names: GE node names after graph preparation.
    """

    types: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


def parse_skip(text: str) -> tuple[SkipNodeNames, tuple[str, ...]]:
    """Return what GE takes from a file's text, and what a reader should know of it.

    Lines outside the two sections are ignored one by one; nothing fails.

    Returns:
        The names, without repetition and in order, and sentences that give the line.
    """
    types: dict[str, None] = {}
    names: dict[str, None] = {}
    warnings = []
    section = ""
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip(_BLANKS)
        if not line or line[0] == "#":
            continue
        if line[0] == "[" and line[-1] == "]":
            section = line[1:-1].strip(_BLANKS)
            if section not in (_TYPE, _NAME):
                near = nearest_name(section[:80], (_TYPE, _NAME))
                hint = f"; did you mean [{near}]?" if near else ""
                warnings.append(f"line {number}: section {printable(line, 80)} is "
                                f"unknown, its lines are ignored{hint}")
        elif section == _TYPE:
            types[line] = None
            warnings += _type_warnings(number, line)
        elif section == _NAME:
            names[line] = None
        elif not section:
            warnings.append(f"line {number}: {printable(line, 80)!r} stands before any "
                            "section and is ignored")
    if not types and not names:
        warnings.append("nothing is skipped")
    return SkipNodeNames(tuple(types), tuple(names)), tuple(warnings)


def _type_warnings(number: int, line: str) -> list[str]:
    if "=" in line:
        return [f"line {number}: {printable(line, 80)!r} is one name; '=' has no "
                "meaning here"]
    if line in _TF_NAMES:
        return [f"line {number}: {line} is TensorFlow's name; GE's is "
                f"{_TF_NAMES[line]}"]
    return []


def write_skip(skip: SkipNodeNames) -> str:
    """Return the text of a file that makes GE skip exactly `skip`.

    Raises:
        SwitchError: a name that no line of such a file can hold.
    """
    lines = []
    for section, names in ((_TYPE, skip.types), (_NAME, skip.names)):
        if names:
            lines.append(f"[{section}]")
            lines += [_line(name) for name in names]
    return "\n".join(lines) + "\n" if lines else ""


def _line(name: str) -> str:
    bracketed = name[:1] == "[" and name[-1:] == "]"
    if (not name or name != name.strip(_BLANKS) or "\n" in name or "\0" in name
            or name[0] == "#" or bracketed):
        raise SwitchError(
            f"found {printable(name, 80)!r} as a name for skip_node_names_cfg; a name "
            "is one line without blanks at its ends, not beginning with '#' and not in "
            "square brackets")
    return name


def read_skip_file(path: str | Path) -> tuple[SkipNodeNames, tuple[str, ...]]:
    """Return `parse_skip` of a file.

    Raises:
        UsageError: the file cannot be read (GE would warn in its log and skip nothing).
    """
    try:
        text = Path(path).read_bytes().decode("utf-8", "surrogateescape")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}); GE would skip "
                         "nothing") from error
    return parse_skip(text)
