"""Rebuild the generated tables of the catalogue from the reference folder.

    python scripts/build_catalogue.py ../shared/reference

Writes ge_harness/catalogue/passes.tsv (GE, fusion engine, AutoFuse) from ge_passes.tsv
and dumps/stages.tsv from dump_stages.tsv. The tables of HLO passes and of Grappler's
optimizers are kept by hand. Columns and wording are the harness's own; each row keeps
the source it rests on.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PASS_COLUMNS = ("family", "name", "level", "precision_class", "certainty", "effect",
                "stage", "why", "switch_off", "source", "aliases")
STAGE_COLUMNS = ("order", "stage", "component", "what", "level1", "level2",
                 "known_from", "note")
FAMILIES = {"ge": "ge", "engine": "ge", "fe_graph": "graph_fusion",
            "fe_ub": "ub_fusion", "autofuse": "autofuse"}
SECTIONS = {"graph_fusion": "GraphFusion", "ub_fusion": "UBFusion"}
RISK = " (closing it is a functional risk)"


def main(arguments: list[str]) -> int:
    """Write both tables; the argument is the reference folder."""
    reference = Path(arguments[1]) if len(arguments) > 1 else (
        ROOT.parent / "shared" / "reference")
    passes = sorted((_pass_row(row) for row in _rows(reference / "ge_passes.tsv")),
                    key=lambda row: (row[0], row[1]))
    _write(ROOT / "ge_harness" / "catalogue" / "passes.tsv", PASS_COLUMNS, passes)
    stages = [_stage_row(row) for row in _rows(reference / "dump_stages.tsv")]
    _write(ROOT / "dumps" / "stages.tsv", STAGE_COLUMNS, stages)
    print(f"{len(passes)} passes, {len(stages)} stages")
    return 0


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as source:
        return list(csv.DictReader(source, delimiter="\t", quoting=csv.QUOTE_NONE))


def _write(path: Path, columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    lines = ["\t".join(columns)] + ["\t".join(row) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _pass_row(row: dict[str, str]) -> tuple[str, ...]:
    family = FAMILIES[row["family"]]
    guessed = row["precision_class"].endswith("?")
    return (family, row["name"], _level(row), row["precision_class"].rstrip("?"),
            _certainty(guessed, row["source_path"]), row["effect"], _stage(row),
            row["why"], _switch_off(family, row), row["source_path"], "")


def _certainty(guessed: bool, source: str) -> str:
    if not guessed:
        return "certain"
    return "guess" if source.endswith("fusion_config.json") else "likely"


def _level(row: dict[str, str]) -> str:
    """Return the registered level, or the level from which the gate lets it run."""
    if row["min_level"]:
        return row["min_level"]
    off = row["can_switch_off"]
    if row["family"] == "autofuse":
        return "O3"
    if "forbidden-close" in off or "O1-exceptional" in off or "does not stop" in off:
        return "O1"
    return "O2" if "level O1" in off or row["family"] in ("fe_graph", "fe_ub") else ""


def _stage(row: dict[str, str]) -> str:
    stage = row["stage"].lstrip(".")
    if stage:
        return stage
    return {"fe_graph": "fusion engine, graph fusion",
            "fe_ub": "fusion engine, UB fusion"}.get(row["family"], "")


def _switch_off(family: str, row: dict[str, str]) -> str:
    """Say in full how the pass is switched off."""
    off, name = row["can_switch_off"], row["name"]
    if off.startswith("no"):
        return _no_switch(off)
    if off.startswith("unknown"):
        return "not established: " + off.partition(": ")[2]
    by_switch = f"ge.optimizationSwitch={name}:off"
    section = SECTIONS.get(family, "GraphFusion")
    by_file = f'ge.fusionSwitchFile {{"Switch":{{"{section}":{{"{name}":"off"}}}}}}'
    if off.startswith("off by default"):
        return f"off by default; if it was opened: {by_switch}, or {by_file}"
    risk = RISK if "functional risk" in off else ""
    if "AUTOFUSE_FLAGS" in off:
        return off.partition(": ")[2] + risk
    if "gated by" in off:
        return f"ge.optimizationSwitch={off.split()[-1]}:off (its gate){risk}"
    ways = [by_switch]
    if "fusion_switch_file" in off:
        ways.append(by_file)
    if "disableOptimizations" in off:
        ways.append(f"ge.disableOptimizations={name}")
    if "oo option" in off and row["switch_option"]:
        ways.append(f"{row['switch_option']}=false")
    if "level O1" in off and "does not" not in off:
        ways.append("ge.oo.level=O1")
    return ", or ".join(ways) + _remark(off) + risk


def _remark(off: str) -> str:
    if "O1-exceptional" in off:
        return "; level O1 and the switch file do not stop it"
    if "forbidden-close" in off:
        return "; under the TF adapters level O1 and the switch file do not stop it"
    if "does not stop" in off:
        return "; level O1 does not stop it"
    if "ALL:off misses" in off:
        return "; ALL:off does not reach it"
    return ""


def _no_switch(off: str) -> str:
    reason = off.partition(": ")[2]
    if reason.startswith("only AutoFusePass"):
        return "no switch of its own; ge.optimizationSwitch=AutoFusePass:off stops all"
    return "no switch" + (f": {reason}" if reason else "")


def _stage_row(row: dict[str, str]) -> tuple[str, ...]:
    known = {("yes", False): "code", ("no", False): "old files"}.get(
        (row["in_code"], row["docs_rank"] != "-"),
        "code and documents" if row["in_code"] == "yes" else "documents")
    return (row["order"], row["stage"], row["component"], row["after_what"],
            row["level1_visible"], row["level2_whitelist"], known,
            "" if row["note"] == "-" else row["note"])


if __name__ == "__main__":
    sys.exit(main(sys.argv))
