"""An inspection as text: a tree of stages, the active passes, what nobody is named for.

Takes the plain document of `inspect`; every name in it is untrusted and goes through
`printable`.
"""

from __future__ import annotations

from typing import Any, Iterable, Mapping

from ge_harness.report.plain import printable, table

Doc = Mapping[str, Any]
_MOST_LISTED = 12
_COUNTS = (("added", "+"), ("removed", "-"))
_KINDS = ("renamed", "fused", "replaced")
_CHANGES = (("casts_added", "casts added"), ("casts_removed", "casts removed"),
            ("dtype_changed", "dtypes changed"), ("format_changed", "formats changed"),
            ("shape_changed", "shapes changed"),
            ("attributes_changed", "changed in attributes only"))


def inspection_text(doc: Doc) -> str:
    """Return the whole inspection for people."""
    parts = [_head(doc)]
    parts += [graph_text(graph) for graph in doc["graphs"]]
    parts.append(passes_text(doc))
    parts.append(_unattributed(doc["unattributed"]))
    parts.append(_kernels(doc["kernels"]))
    return "\n".join(part for part in parts if part)


def graph_text(graph: Doc) -> str:
    """Return one graph and its stages as a tree."""
    where = f"  [{name(graph['run'])}]" if graph["run"] else ""
    ids = "" if graph["graph_id"] is None else f", graph {graph['graph_id']}"
    session = f", session {name(graph['session'])}" if graph["session"] else ""
    lines = [f"graph {name(graph['name'])}{ids}{session}{where}"]
    if graph["subgraphs"]:
        shown = ", ".join(name(each) for each in graph["subgraphs"][:_MOST_LISTED])
        more = len(graph["subgraphs"]) - _MOST_LISTED
        lines.append(f"    subgraphs: {shown}" + (f", {more} more" if more > 0 else ""))
    for place, stage in enumerate(graph["stages"]):
        last = place == len(graph["stages"]) - 1
        lines.append(("└─ " if last else "├─ ") + _stage_line(stage))
    return "\n".join(lines) + "\n"


def _stage_line(stage: Doc) -> str:
    serial = "" if stage["serial"] is None else f"{stage['serial']:>4} "
    unknown = ""
    if stage["name"] and not stage["known"]:
        unknown = " (stage unknown, placed by its serial)"
    failed = " (the step failed)" if stage["failed"] else ""
    lost = f", {stage['lost_nodes']} operators lost" if stage["lost_nodes"] else ""
    edges = stage["edges"]
    size = (f"{stage['nodes']} nodes, edges {edges['data']}/{edges['control']}/"
            f"{edges['empty']}")
    said = changes_line(stage["changes"]) if stage["order"] else "first"
    label = name(stage["name"]) or name(stage["file"].rpartition("/")[2])
    return f"{serial}{label}{unknown}{failed}: {size}{lost}; {said}"


def changes_line(changes: Doc) -> str:
    """Return what a stage changed in one line."""
    parts = [f"{mark}{len(changes[kind])}" for kind, mark in _COUNTS if changes[kind]]
    for kind in ("instructions_added", "instructions_removed"):
        if changes.get(kind):
            parts.append(f"{'+' if kind.endswith('added') else '-'}{changes[kind]}")
    parts += [f"{len(changes[kind])} {kind}" for kind in _KINDS if changes[kind]]
    parts += [_counted(changes[key], what) for key, what in _CHANGES if changes[key]]
    rewired = sum(set(each["what"]) <= {"inputs", "controls", "graph"}
                  for each in changes["changed"])
    if rewired:
        parts.append(f"{rewired} rewired")
    retyped = sum("type" in each["what"] for each in changes["changed"])
    if retyped:
        parts.append(f"{retyped} of another type")
    return ", ".join(parts) if parts else "no change"


def _counted(count: int, what: str) -> str:
    """Return "2 casts added", "1 cast added"."""
    noun, _, rest = what.partition(" ")
    return f"{count} {noun[:-1] if count == 1 and noun.endswith('s') else noun} {rest}"


def changes_text(stage: Doc) -> str:
    """Return everything a stage changed, a line each."""
    changes = stage["changes"]
    lines = [f"{name(stage['name'])}: {changes_line(changes)}"]
    lines += [f"  + {_node(each)}" for each in changes["added"]]
    lines += [f"  - {_node(each)}" for each in changes["removed"]]
    lines += [f"  = {_node(each)} was {name(each['old_name'])} ({name(each['how'])})"
              for each in changes["renamed"]]
    for each in changes["fused"]:
        lines.append(f"  * {_node(each)} stands for {_nodes(each['originals'])} "
                     f"({name(each['how'])})")
    for each in changes["replaced"]:
        lines.append(f"  > {_nodes(each['after'])} instead of {_nodes(each['before'])} "
                     f"({name(each['how'])})")
    for each in changes["changed"]:
        lines.append(f"  ~ {_node(each)}: {', '.join(each['what'])}")
        lines += [f"      {name(detail['what'])}: {name(detail['before'])} -> "
                  f"{name(detail['after'])}" for detail in each["details"]]
    return "\n".join(lines) + "\n"


def passes_text(doc: Doc) -> str:
    """Return the active passes, grouped by verdict."""
    active = doc["active_passes"]
    proved = [each for each in active if _shows_change(each)]
    ran = [each for each in active if not _shows_change(each)]
    parts = []
    for verdict, title in (
            ("precision-affecting", "passes that can have changed numbers"),
            ("undetermined", "passes of which that is not settled"),
            ("bit-safe", "passes that cannot have changed numbers")):
        chosen = [each for each in proved if each["verdict"] == verdict]
        if chosen:
            parts.append(f"{title}\n" + _pass_table(chosen))
    if not proved:
        parts.append("no pass is shown to have changed a graph\n")
    if ran:
        parts.append(_ran(ran))
    if doc["matched_only"]:
        matched = _list(f"{each['name']} ({each['match_times']})"
                        for each in doc["matched_only"])
        parts.append(f"matched and changed nothing: {matched}\n")
    if doc["disabled_passes"]:
        closed = _list(each["name"] for each in doc["disabled_passes"])
        parts.append(f"switched off, says the log: {closed}\n")
    return "\n".join(parts)


def _pass_table(found: list[Doc]) -> str:
    rows = []
    for each in found:
        counts = "-" if each["effect_times"] is None else (
            f"{each['effect_times']}/{each['match_times']}")
        rows.append((each["family"], each["name"], each["precision_class"],
                     each["certainty"], counts, ", ".join(each["dtypes"]),
                     ", ".join(each["ops"]),
                     f"{each['strength']} ({each['standing']})"))
    text = table(("family", "pass", "class", "certainty", "effect/match", "dtypes",
                  "ops", "evidence"), rows, widest=44)
    for each in found:
        off = each["switch_off"] or "no switch known"
        where = each["all_evidence"][0]
        place = f"{where['file']}:{where['line']}" if where["line"] else where["file"]
        text += (f"  {name(each['name'])}: {name(each['reason'])}\n"
                 f"      shown by {name(each['evidence'])}\n"
                 f"      in {name(place)}\n"
                 f"      switch off: {name(off)}\n")
    return text


def _ran(ran: list[Doc]) -> str:
    able = [each for each in ran if each["verdict"] == "undetermined" and each["known"]]
    safe = [each for each in ran if each["verdict"] == "bit-safe"]
    unknown = [each for each in ran if not each["known"]]
    lines = [f"{len(ran)} passes ran, says the log, which does not show a change:"]
    for title, group in (("of a class that can change numbers", able),
                         ("bit-safe", safe), ("not in the catalogue", unknown)):
        if group:
            lines.append(f"  {title}:")
            lines += [f"    {name(each['name'])} ({name(each['precision_class'])}) "
                      f"{name(_place(each))}" for each in group]
    return "\n".join(lines) + "\n"


def _place(each: Doc) -> str:
    where = each["all_evidence"][0]
    return f"{where['file'].rpartition('/')[2]}:{where['line']}"


def _shows_change(each: Doc) -> bool:
    return any(one["shows_change"] for one in each["all_evidence"])


def _unattributed(found: list[Doc]) -> str:
    if not found:
        return ""
    lines = ["changes that no evidence gives to a pass"]
    for each in found:
        counts = ", ".join(f"{count} {kind}" for kind, count
                           in sorted(each["changes"].items()))
        lines.append(f"  {name(each['stage'])}: {counts}; "
                     f"ops {_list(each['ops'])}; dtypes {_list(each['dtypes'])}")
    return "\n".join(lines) + "\n"


def _kernels(found: list[Doc]) -> str:
    if not found:
        return ""
    rows = [(each["name"], each["core_type"], each["sha256"][:16]) for each in found]
    return "kernels\n" + table(("name", "core", "sha256"), rows)


def _head(doc: Doc) -> str:
    files = doc["files"]
    stages = sum(len(graph["stages"]) for graph in doc["graphs"])
    return (f"{name(doc['source'])}: {files['read']} of {files['found']} files read, "
            f"{_many(len(doc['graphs']), 'graph')}, {_many(stages, 'stage')}, "
            f"{_many(len(doc['warnings']), 'warning')}"
            + ("; edges are data/control/empty" if stages else "") + "\n")


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _node(each: Doc) -> str:
    dtypes = name(", ".join(each["dtypes"]))
    kind = name(each["type"]) + ("; " if dtypes else "") + dtypes
    return f"{name(each['name'])} ({kind})"


def _nodes(found: Iterable[Doc]) -> str:
    return ", ".join(_node(each) for each in found)


def _list(words: Iterable[str]) -> str:
    everything = [name(word) for word in words]
    shown = ", ".join(everything[:_MOST_LISTED])
    more = len(everything) - _MOST_LISTED
    return shown + (f", {more} more" if more > 0 else "")


def name(text: str) -> str:
    """Return an untrusted name on one line, shortened."""
    return printable(str(text), 300)
