"""Two inspections side by side as text."""

from __future__ import annotations

from typing import Any, Mapping

from ge_harness.report.inspect_text import changes_line, changes_text, name


def against_text(found: Mapping[str, Any], *, details: bool) -> str:
    """Return what differs.

    Args:
        found: the comparison, as plain data.
        details: list every changed node.
    """
    lines = [f"A {name(found['a'])}", f"B {name(found['b'])}", ""]
    for side in ("a", "b"):
        lines += [f"graph only in {side.upper()}: {name(each)}"
                  for each in found[f"graphs_only_{side}"]]
    for graph in found["graphs"]:
        lines.append(f"graph {name(graph['name_a'])} | {name(graph['name_b'])}")
        for stage in graph["stages"]:
            said = stage["problem"] or ("equal" if stage["equal"]
                                        else changes_line(stage["changes"]))
            both = name(stage["name"])
            if stage["name"] != stage["name_b"]:
                both += f" | {name(stage['name_b'])}"
            lines.append(f"  {both}: {name(said)}")
            if details and not stage["equal"]:
                lines += ["  " + line for line in
                          changes_text(stage).split("\n")[1:] if line]
        for side in ("a", "b"):
            lines += [f"  stage only in {side.upper()}: {name(each)}"
                      for each in graph[f"stages_only_{side}"]]
    passes = found["passes"]
    for side in ("a", "b"):
        lines += [f"pass only in {side.upper()}: {name(each['name'])} "
                  f"({each['family']}, {each['precision_class']}, {each['verdict']})"
                  for each in passes[f"only_{side}"]]
    lines += [f"pass {name(each['name'])}: {each['effect_times_a']} effects in A, "
              f"{each['effect_times_b']} in B" for each in passes["counts"]]
    if not found["differs"]:
        lines.append("no difference")
    return "\n".join(lines) + "\n"
