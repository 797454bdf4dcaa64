from __future__ import annotations

import gzip
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dumps import hlo, hlo_passes
from dumps.errors import DumpError

DATA = Path(__file__).resolve().parents[1] / "data" / "dumps" / "hlo"
STACKS = ("tf_1_15", "tf_2_6", "tf_2_21")

MODULE = """HloModule small.7, entry_computation_layout={(f32[4]{0})->f32[4]{0}}

%sum.1 (a.2: f32[], b.3: f32[]) -> f32[] {
  %a.2 = f32[] parameter(0)
  %b.3 = f32[] parameter(1)
  ROOT %add.4 = f32[] add(f32[] %a.2, f32[] %b.3)
}

ENTRY %main.9 (x.1: f32[4], i.2: s32[]) -> (f32[4], s32[]) {
  %x.1 = f32[4]{0} parameter(0), metadata={op_name="odd } \\" name" source_line=1}
  %i.2 = s32[] parameter(1)
  %zero = f32[] constant(0)
  %reduce.5 = f32[] reduce(f32[4]{0} %x.1, f32[] %zero), dimensions={0}, to_apply=%sum.1
  %wide = bf16[<=4,2]{1,0:T(8,128)} custom-call(%x.1), custom_call_target="f(x)"
  ROOT %tuple.6 = (f32[4]{0}, s32[]) tuple(f32[4]{0} %x.1, s32[] %i.2)
}
"""


def _module(text=MODULE):
    return hlo.parse_module(text, "small.txt")


def _final(stack):
    return next(path for path in sorted((DATA / stack).iterdir())
                if path.name.endswith("after_optimizations.txt"))


def test_instructions_keep_types_operands_and_lines():
    entry = _module().computations[1]
    assert entry.entry
    assert entry.name == "main.9"
    assert entry.line == 9
    reduce = entry.instructions[3]
    assert (reduce.opcode, reduce.operands, reduce.called) == (
        "reduce", ("x.1", "zero"), ("sum.1",))
    assert (reduce.dtypes, reduce.shapes, reduce.line) == (("float32",), ((),), 13)
    wide = entry.instructions[4]
    assert (wide.dtypes, wide.shapes) == (("bfloat16",), ((None, 2),))
    assert entry.instructions[5].root
    assert entry.instructions[5].dtypes == ("float32", "int32")
    assert "metadata" not in entry.instructions[0].attributes
    assert _module().log.all() == ()


def test_a_module_is_a_graph_with_its_called_computations_below_it(tmp_path):
    path = tmp_path / "m.txt"
    path.write_text(MODULE)
    graph = hlo.read(path)
    assert (graph.name, graph.format) == ("small.7", "hlo")
    assert [node.type for node in graph.nodes] == [
        "parameter", "parameter", "constant", "reduce", "custom-call", "tuple"]
    assert [each.name for each in graph.subgraphs] == ["sum.1"]
    assert graph.node("reduce.5").subgraphs == ("sum.1",)
    assert graph.node("reduce.5").input_descs[0].shape == (4,)
    assert graph.node("wide").output_descs[0].shape == (-1, 2)
    assert graph.edges.data == 5
    assert graph.outputs[0].node == "tuple.6"


@pytest.mark.parametrize("stack", STACKS)
def test_the_optimized_program_of_every_stack_reads_without_warning(stack):
    graph = hlo.read(_final(stack))
    assert graph.warnings == ()
    body = [node.type for node in graph.subgraphs[0].nodes]
    assert sorted(body) == ["add", "multiply", "multiply", "parameter", "parameter",
                            "parameter"]
    assert "fusion" in [node.type for node in graph.nodes]


@pytest.mark.parametrize(("stack", "changed"), [
    ("tf_1_15", ["algsimp", "fusion"]),
    ("tf_2_6", ["algsimp", "fusion"]),
    ("tf_2_21", ["dynamic-dimension-simplifier", "algsimp", "fusion"]),
])
def test_only_passes_whose_text_differs_are_active(stack, changed):
    modules = hlo_passes.read_passes(DATA / stack)
    assert len(modules) == 1
    assert [each.name for each in modules[0].passes if each.changed] == changed
    assert [each.order for each in modules[0].passes] == sorted(
        each.order for each in modules[0].passes)
    fusion = next(each for each in modules[0].passes if each.name == "fusion")
    assert fusion.ops == ("add", "fusion", "multiply")
    assert fusion.dtypes == ("float32",)
    assert modules[0].warnings == ()


def test_a_pass_that_ran_in_vain_is_known_but_not_active():
    modules = hlo_passes.read_passes(DATA / "tf_1_15")
    assert "dce" in hlo_passes.ran_names(modules)
    assert "cpu-instruction-fusion" not in hlo_passes.pass_names(modules)
    assert "simplify-sorts" in hlo_passes.pass_names(modules)


@pytest.mark.parametrize(("name", "expected"), [
    ("module_0000.0051.HLO_passes_through_layout_assignment.after_layout-assignment."
     "before_fusion.txt",
     ("", 0, "", 51, "HLO_passes_through_layout_assignment", "layout-assignment",
      "fusion")),
    ("1796066163572698.module_0003.a_f_47__n_0...02_001_000__executor_type____.34.0010."
     "after_layout_assignment.after_pipeline-start.before_pipeline-end.txt",
     ("1796066163572698", 3, "a_f_47__n_0...02_001_000__executor_type____.34", 10,
      "after_layout_assignment", "pipeline-start", "pipeline-end")),
    ("module_0012.a_inference_f_46_.1.0018.copy-insertion."
     "after_adding_copies_to_resolve_interference.txt",
     ("", 12, "a_inference_f_46_.1", 18, "copy-insertion",
      "adding_copies_to_resolve_interference", "")),
    ("module_0001.m.1.0013.HLO_passes_after_layout_assignment.after_after_layout_"
     "assignment.before_x.txt",
     ("", 1, "m.1", 13, "HLO_passes_after_layout_assignment",
      "after_layout_assignment", "x")),
])
def test_names_of_all_three_grammars_come_apart(name, expected):
    found = hlo_passes.parse_name(name)
    assert (found.stamp, found.number, found.module, found.order, found.pipeline,
            found.passed, found.upcoming) == expected


@pytest.mark.parametrize("name", [
    "module_0000.m.1.before_optimizations.txt", "module_0000.m.1.debug_options",
    "module_0000.cpu_after_optimizations-buffer-assignment.txt", "", "x" * 5000,
    "module_0000.ir-with-opt.ll",
])
def test_other_files_are_no_pass_files(name):
    assert hlo_passes.parse_name(name) is None


def test_a_name_of_255_characters_comes_apart():
    tail = ".0015.pipe.after_fusion.before_dce.txt"
    name = "module_0000." + "m" * (255 - len(tail) - 12) + tail
    assert len(name) == 255
    assert hlo_passes.parse_name(name).passed == "fusion"


def test_metadata_source_tables_and_value_names_are_not_the_program():
    tables = MODULE.replace("\n\n%sum", '\n\nFileNames\n1 "a.py"\n\n%sum', 1)
    plain = hlo.program_text(MODULE)
    assert hlo.program_text(tables) == plain
    assert hlo.program_text(MODULE.replace("source_line=1", "source_line=2")) == plain
    renamed = MODULE.replace("%zero", "%nothing")
    assert hlo.same_program(hlo.program_text(renamed), plain)
    other = MODULE.replace("constant(0)", "constant(1)")
    assert not hlo.same_program(hlo.program_text(other), plain)
    swapped = MODULE.replace(
        "add(f32[] %a.2, f32[] %b.3)", "add(f32[] %b.3, f32[] %a.2)")
    assert not hlo.same_program(hlo.program_text(swapped), plain)


@pytest.mark.parametrize(("content", "found"), [
    (b"", "an empty file"), (b"\n \n", "an empty file"),
    (b"\x00\x01\x02binary", "binary"), (b"BufferAssignment:\n", "BufferAssignment"),
])
def test_what_is_no_hlo_text_is_refused_with_its_place(tmp_path, content, found):
    path = tmp_path / "m.txt"
    path.write_bytes(content)
    with pytest.raises(DumpError) as caught:
        hlo.read(path)
    assert found in caught.value.found
    assert caught.value.expected == ("'HloModule <name>'" if content else "a dump")


def test_a_truncated_file_keeps_what_was_complete_and_says_so(tmp_path):
    path = tmp_path / "m.txt"
    path.write_text(MODULE[:MODULE.index("%reduce.5") + 20])
    graph = hlo.read(path)
    assert [node.name for node in graph.nodes] == ["x.1", "i.2", "zero"]
    texts = [warning.message for warning in graph.warnings]
    assert any("ends inside computation 'main.9'" in text for text in texts)
    assert graph.lost_nodes == 1


def test_a_damaged_line_loses_one_instruction_and_is_named():
    damaged = MODULE.replace("%i.2 = s32[] parameter(1)", "%i.2 = s32[ parameter")
    module = _module(damaged)
    assert len(module.computations[1].instructions) == 5
    assert module.log.lost_nodes == 1
    assert module.log.all()[0].line == 11


def test_a_damaged_dump_does_not_hide_the_passes_after_it(tmp_path):
    for path in (DATA / "tf_2_6").iterdir():
        text = path.read_text()
        if ".0003." in path.name:
            text = ""
        (tmp_path / path.name).write_text(text)
    modules = hlo_passes.read_passes(tmp_path)
    assert [each.name for each in modules[0].passes if each.changed] == [
        "algsimp", "fusion"]
    assert "an empty file" in modules[0].warnings[0].message


def test_folders_without_passes_are_refused(tmp_path):
    (tmp_path / "readme.txt").write_text("nothing")
    with pytest.raises(DumpError, match="none of them per pass"):
        hlo_passes.read_passes(tmp_path)
    with pytest.raises(DumpError):
        hlo_passes.read_passes(tmp_path / "absent")


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.data())
def test_mutated_text_never_raises_and_keeps_untouched_instructions(data):
    lines = MODULE.split("\n")
    at = data.draw(st.integers(1, len(lines) - 2))
    kind = data.draw(st.sampled_from(("drop", "repeat", "swap", "flip", "cut")))
    if kind == "drop":
        del lines[at]
    elif kind == "repeat":
        lines.insert(at, lines[at])
    elif kind == "swap":
        lines[at], lines[at + 1] = lines[at + 1], lines[at]
    elif kind == "cut":
        lines = lines[:at]
    elif lines[at]:
        place = data.draw(st.integers(0, len(lines[at]) - 1))
        new = data.draw(st.characters(blacklist_categories=("Cs",)))
        lines[at] = lines[at][:place] + new + lines[at][place + 1:]
    module = _module("\n".join(lines))
    names = [each.name for computation in module.computations
             for each in computation.instructions]
    if at > 6:
        assert names[:3] == ["a.2", "b.3", "add.4"]
    hlo.to_graph(module)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.text(max_size=400))
def test_any_text_after_the_header_is_survived(text):
    module = _module("HloModule x\n" + text)
    hlo.to_graph(module)
    hlo.program_text("HloModule x\n" + text)


@pytest.mark.parametrize("bomb", ["(" * 50000, "{" * 50000, '"' * 50001,
                                  "metadata={" * 20000, "%a = (" * 10000])
def test_nesting_bombs_end_soon(bomb):
    text = "HloModule x\n\nENTRY %m () -> f32[] {\n  %a = f32[] add(" + bomb + "\n}\n"
    module = _module(text)
    assert len(module.computations) == 1
    hlo.program_text(text)


def test_a_word_of_a_hundred_thousand_letters_takes_no_time():
    line = f"  %a = f32[2] add({'x' * 100000}), metadata={{{'y' * 100000}}}"
    text = f"HloModule m\n\nENTRY %main (a: f32[2]) -> f32[2] {{\n{line}\n}}\n"
    wide = text.replace("f32[2] add", "(" + "z" * 100000 + ", f32[2]) add")
    for each in (text, wide):
        start = time.process_time()
        hlo.parse_module(each, "long.txt")
        assert time.process_time() - start < 2.0


def test_packed_files_of_passes_are_read_like_others(tmp_path):
    for path in (DATA / "tf_2_6").iterdir():
        (tmp_path / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
    ((packed,), (plain,)) = (hlo_passes.read_passes(folder)
                             for folder in (tmp_path, DATA / "tf_2_6"))
    assert [(each.name, each.changed, each.added) for each in packed.passes] == [
        (each.name, each.changed, each.added) for each in plain.passes]
