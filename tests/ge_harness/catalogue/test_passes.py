"""The catalogue of passes: complete, consistent, and honest about what it lacks."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import pytest

from ge_harness import catalogue
from ge_harness.catalogue import passes, stages
from ge_harness.catalogue.pattern import compile_pattern
from ge_harness.errors import UsageError
from tests.shared import SHARED, needs_shared

ROOT = Path(__file__).resolve().parents[3]
# Every pass name seen in the file names of HLO dumps of eight functions in three
# element types under TensorFlow 1.15, 2.6.5 and 2.21.
_SEEN = """CallInliner adding_copies_to_resolve_interference
adding_special-case_copies after_layout_assignment algsimp batch-dot-simplification
batched_gather_scatter_normalizer batchnorm_expander call-inliner change-op-data-type
cholesky_expander comparison-expander conditional-to-select constant_folding
convolution-canonicalization convolution-group-converter copy-insertion
cpu-all-reduce-combiner cpu-parallel-task-assigner cpu_hlo_support_checker cse
cse_barrier_expander dce dot_decomposer dynamic-dimension-simplifier
dynamic-index-splitter dynamic_padder element_type_converter flatten-call-graph
float-normalization-bf16 float-normalization-f8e5m2 fusion fusion-wrapper
gather_expander gather_simplifier hlo-get-dimension-size-rewriter
indexed-array-analysis-printer-pass layout-assignment literal-canonicalizer map-inline
operand_upcaster qr_expander reduce-decomposer reduce-window-resizer
reduce-window-rewriter removing_unnecessary_copies reshape-decomposer reshape-mover
rng-bit-generator-expander rng-expander scatter_expander select_and_scatter_expander
shape-canonicalizer simplification simplification_after_layout_assignement
simplification_after_layout_assignment simplify-conditional simplify-sorts
simplify-while-loops small-while-loop-hoisting sub-byte-size-setter topk-rewriter
transpose-folding tree_reduction_rewriter triangular_solve_expander tuple-simplifier
while-loop-constant-sinking while-loop-invariant-code-motion
while-loop-trip-count-annotator zero_sized_hlo_elimination dot-library-rewriter
simplify-fp-conversions"""
_GRAPPLER = """constant_folding arithmetic_optimization remapping layout memory
dependency loop function shape pruning common_subgraph_elimination auto_mixed_precision
debug_stripper scoped_allocator pin_to_host implementation_selector"""
SEEN_HLO = _SEEN.split()
GRAPPLER = _GRAPPLER.split()


def test_every_entry_is_complete_and_of_a_known_class():
    for info in passes.everything():
        assert info.name
        assert info.why
        assert info.source
        assert info.precision_class in passes.CLASSES
        assert info.certainty in passes.CERTAINTIES
        assert info.level in ("", "O0", "O1", "O2", "O3")


def test_family_and_name_together_are_unique():
    keys = [(info.family, info.name) for info in passes.everything()]
    assert len(keys) == len(set(keys))


def test_one_name_in_two_families_is_two_passes():
    ge = catalogue.lookup("ge", "CastRemovePass")
    fused = catalogue.lookup("autofuse", "CastRemovePass")
    assert (ge.switch_off, ge.level) == ("ge.optimizationSwitch=CastRemovePass:off",
                                         "O3")
    assert "AutoFusePass:off" in fused.switch_off
    assert catalogue.lookup("graph_fusion", "CastRemovePass") is None


def test_an_unknown_pass_is_none_and_the_nearest_name_is_offered():
    assert catalogue.lookup("ge", "CastRemvePass") is None
    assert catalogue.nearest("CastRemvePass") == "CastRemovePass"
    assert catalogue.nearest("realdiv2mulsfusionpass") == "RealDiv2MulsFusionPass"
    assert catalogue.nearest("\x1b[31m" + "z" * 100000) == ""


@pytest.mark.parametrize("name", SEEN_HLO)
def test_every_hlo_pass_seen_in_dumps_is_known(name):
    assert catalogue.lookup("hlo_pass", name) is not None


@pytest.mark.parametrize("name", GRAPPLER)
def test_every_grappler_optimizer_is_known_under_its_short_name(name):
    assert catalogue.lookup("grappler", name) is not None


def test_a_pass_that_no_version_has_is_not_known():
    assert catalogue.lookup("hlo_pass", "cpu-instruction-fusion") is None


@pytest.mark.parametrize(("family", "name", "precision_class"), [
    ("hlo_pass", "algsimp", "algorithm"), ("hlo_pass", "fusion", "mixed"),
    ("hlo_pass", "dot-library-rewriter", "accumulation"),
    ("hlo_pass", "dce", "none"), ("ge", "CastRemovePass", "upcast"),
    ("graph_fusion", "RealDiv2MulsFusionPass", "algorithm"),
    ("grappler", "arithmetic_optimization", "algorithm"),
])
def test_measured_causes_carry_their_class(family, name, precision_class):
    info = catalogue.lookup(family, name)
    assert (info.precision_class, info.certainty) == (precision_class, "certain")


def test_a_pass_without_a_class_says_why_it_is_safe():
    for info in passes.everything():
        assert bool(info.bit_safe_reason) == (info.precision_class == "none")


@needs_shared
def test_nothing_of_the_reference_table_is_missing():
    path = SHARED / "reference" / "ge_passes.tsv"
    with path.open(encoding="utf-8", newline="") as source:
        rows = list(csv.DictReader(source, delimiter="\t", quoting=csv.QUOTE_NONE))
    for row in rows:
        infos = catalogue.passes.named(row["name"])
        wanted = row["precision_class"].rstrip("?")
        assert any(info.precision_class == wanted
                   and info.source == row["source_path"] for info in infos)
    generated = [info for info in passes.everything()
                 if info.family not in ("hlo_pass", "grappler")]
    assert len(generated) == len(rows) == 770


@needs_shared
def test_the_shipped_tables_are_what_the_script_builds(tmp_path):
    script = (ROOT / "scripts" / "build_catalogue.py").read_text(encoding="utf-8")
    (tmp_path / "scripts").mkdir()
    (tmp_path / "ge_harness" / "catalogue").mkdir(parents=True)
    (tmp_path / "dumps").mkdir()
    copy = tmp_path / "scripts" / "build_catalogue.py"
    copy.write_text(script, encoding="utf-8")
    subprocess.run([sys.executable, str(copy), str(SHARED / "reference")], check=True,
                   stdout=subprocess.DEVNULL)
    for name in ("ge_harness/catalogue/passes.tsv", "dumps/stages.tsv"):
        assert (tmp_path / name).read_bytes() == (ROOT / name).read_bytes()


def test_searching_takes_a_regular_expression():
    names = {info.name for info in catalogue.search("^Cast.*Pass$")}
    assert {"CastRemovePass", "CastRemoveFusionPass"} <= names


def test_a_broken_expression_is_a_usage_error():
    with pytest.raises(UsageError, match="not a regular expression"):
        catalogue.search("(")
    with pytest.raises(UsageError, match="at most"):
        compile_pattern("a" * 1001)


def test_an_expression_without_end_is_stopped(monkeypatch):
    monkeypatch.setattr("ge_harness.catalogue.pattern.TIME_LIMIT_S", 0.2)
    with pytest.raises(UsageError, match="longer than"):
        compile_pattern(r"(\w+)+!").search("a" * 3000)


def test_rows_for_lists_have_a_cell_for_every_column():
    for module in (passes, stages):
        assert all(len(row) == len(module.columns()) for row in module.rows())
    assert len(stages.rows()) == 199
