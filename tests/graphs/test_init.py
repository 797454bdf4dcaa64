from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import graphs
from tests.shared import SHARED, needs_shared

SHIPPED = graphs.names()


def test_the_subgraphs_of_the_experiments_are_shipped():
    wanted = {
        "abs_relu_exp", "attention", "broadcast", "broadcast_mul", "concat", "div",
        "elementwise_chain", "ffn_front", "gelu", "layernorm", "matmul_add_layernorm",
        "reduce_sum", "reshape", "rsqrt", "scalar_mul", "slice",
        "slice_broadcast_concat", "softmax", "split", "split_transpose_concat",
        "transpose", "transpose_concat"}
    assert wanted <= set(SHIPPED)


def test_every_module_is_either_a_subgraph_or_known_machinery():
    folder = Path(graphs.__file__).parent
    for path in folder.glob("*.py"):
        functions = {node.name for node in ast.parse(path.read_bytes()).body
                     if isinstance(node, ast.FunctionDef)}
        assert ("build" in functions) == (path.stem in SHIPPED), path.name


def test_listing_and_describing_import_no_graph_file_numpy_or_tensorflow():
    code = ("import sys, graphs\n"
            "rows = [graphs.describe(n) for n in graphs.names()]\n"
            "loaded = [m for m in sys.modules if m.startswith('graphs.')]\n"
            "print(len(rows), sorted(loaded), 'numpy' in sys.modules,\n"
            "      'tensorflow' in sys.modules)")
    root = Path(graphs.__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", code], cwd=str(root), check=True,
                          stdout=subprocess.PIPE, text=True)
    assert done.stdout.strip() == f"{len(SHIPPED)} ['graphs.errors'] False False"


def test_loading_every_subgraph_and_resolving_one_imports_no_tensorflow():
    code = ("import sys, graphs, graphs.source, graphs.build\n"
            "[graphs.load(n) for n in graphs.names()]\n"
            "graphs.source.resolve('softmax')\n"
            "print('tensorflow' in sys.modules)")
    root = Path(graphs.__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", code], cwd=str(root), check=True,
                          stdout=subprocess.PIPE, text=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_file_says_what_the_record_needs(name):
    subgraph = graphs.load(name)
    assert subgraph.name == name
    assert graphs.describe(name) == subgraph.summary
    assert len(subgraph.summary) <= 88
    assert "Given: " in subgraph.doc
    assert "Expected: " in subgraph.doc
    assert subgraph.claims
    assert subgraph.targets
    assert subgraph.dtypes == ("float16", "bfloat16", "float32")


def test_some_shipped_subgraph_has_odd_shapes_and_every_paper_size_is_larger():
    odd = 0
    for name in SHIPPED:
        for item in graphs.load(name).inputs:
            odd += any(axis % 2 for axis in item.desk)
            if item.paper:
                assert len(item.paper) == len(item.desk)
    assert odd > 10


def test_movement_subgraphs_bring_size_one_and_empty_shapes():
    for name in SHIPPED:
        subgraph = graphs.load(name)
        if "D" in subgraph.claims:
            assert {"size_one", "empty"} <= set(dict(subgraph.shapes)), name


@needs_shared
def test_targets_are_passes_of_the_catalogue():
    text = (SHARED / "reference" / "ge_passes.tsv").read_text(encoding="utf-8")
    known = {line.split("\t")[0] for line in text.split("\n")}
    for name in SHIPPED:
        assert set(graphs.load(name).targets) <= known, name


def test_an_unknown_name_lists_the_known_ones_and_the_nearest():
    with pytest.raises(graphs.GraphError) as caught:
        graphs.describe("softmx")
    assert caught.value.subject == "softmx"
    assert caught.value.known == SHIPPED
    assert str(caught.value).endswith("Did you mean 'softmax'?")
    for machinery in ("build", "errors", "../setup", ""):
        with pytest.raises(graphs.GraphError):
            graphs.load(machinery)
