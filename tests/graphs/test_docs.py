"""The page on graph files and its template are held to what the code does."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

import graphs
from graphs import distribution
from graphs.build import BuildOptions, build_graph
from graphs.source import load_subgraph, resolve
from graphs.subgraph import CLAIMS, ROLES

DOCS = Path(__file__).resolve().parents[2] / "docs"
TEXT = (DOCS / "graph_files.md").read_text(encoding="utf-8")


def test_the_template_is_a_graph_file():
    subgraph = load_subgraph(resolve(str(DOCS / "template_graph.py")))
    assert subgraph.dtypes == ("float16", "bfloat16", "float32")
    assert subgraph.variants == (("scale", ("none", "half")),)


@pytest.mark.tf
@pytest.mark.parametrize("scale", ["none", "half"])
def test_the_template_builds_and_runs(tf, run, scale):
    built = build_graph(tf, resolve(str(DOCS / "template_graph.py")),
                        BuildOptions(variants=(("scale", scale),)))
    assert run(built)["y"].shape == (8, 4)


def test_the_page_names_every_distribution_claim_and_role():
    for kind in distribution.KINDS:
        assert f"`{kind.__name__}" in TEXT
    assert ", ".join(CLAIMS) in TEXT
    assert all(f"`{role}`" in TEXT for role in ROLES)


@pytest.mark.tf
def test_the_page_lists_the_ops_that_the_shipped_subgraphs_are_made_of(tf, ops):
    block = TEXT.rsplit("variants:\n\n", 1)[1]
    found = set()
    for name in graphs.names():
        variants = graphs.load(name).variants
        for values in itertools.product(*[v for _, v in variants]):
            chosen = tuple(zip([n for n, _ in variants], values))
            built = build_graph(tf, resolve(name), BuildOptions(
                dtype="float32", variants=chosen))
            found |= {op for op, _ in ops(built)}
    assert found == set(block.split())
