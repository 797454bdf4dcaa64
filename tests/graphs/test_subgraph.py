from __future__ import annotations

import types

import pytest

from graphs.distribution import Uniform, Values
from graphs.errors import GraphError
from graphs.subgraph import Input, from_module


def module(**parts):
    made = types.ModuleType("made", "One op.\n\nGiven: x\nExpected: y")
    made.__file__ = "made.py"
    made.INPUTS = (Input("x", (2, 3)),)
    made.build = lambda tf, x: {"y": x}
    for name, value in parts.items():
        setattr(made, name, value)
    return made


def test_the_form_of_the_house_style_is_accepted():
    made = module(INPUTS=(Input("x", (8, 16), "float16"), Input("b", (4,), "float16")))
    subgraph = from_module(made, "made")
    assert subgraph.dtypes == ("float16",)
    assert subgraph.summary == "One op."


def test_the_dtypes_are_what_every_input_that_follows_may_be():
    made = module(INPUTS=(Input("i", (2,), "int32"),
                          Input("x", (2,), ("float32", "float16")),
                          Input("w", (2,), ("float16", "bfloat16"))))
    assert from_module(made, "made").dtypes == ("float16",)


@pytest.mark.parametrize(("part", "value", "said"), [
    ("__doc__", "", "docstring: found none"),
    ("build", None, "build: found none"),
    ("INPUTS", None, "INPUTS: found none"),
    ("INPUTS", ("x",), "INPUTS: found tuple"),
    ("INPUTS", (Input("a b", ()),), "a name of letters"),
    ("INPUTS", (Input("tf", ()),), "another name"),
    ("INPUTS", (Input("x", ()), Input("x", ())), "the name twice"),
    ("INPUTS", (Input("x", (-1,)),), "shape (-1,)"),
    ("INPUTS", (Input("x", (), "half"),), "dtype 'half'"),
    ("INPUTS", (Input("x", (), ()),), "a dtype and a distribution"),
    ("INPUTS", (Input("x", (), distribution="normal"),), "found str"),
    ("INPUTS", (Input("x", (), distribution=Values(())),), "no values"),
    ("INPUTS", (Input("x", (), role="bias"),), "role 'bias'"),
    ("INPUTS", (Input("x", (), when=("gelu", "tanh")),), "when ('gelu', 'tanh')"),
    ("CLAIMS", ("Z",), "CLAIMS: found 'Z'"),
    ("CLAIMS", "AB", "CLAIMS: found str"),
    ("TARGETS", (3,), "TARGETS: found 3"),
    ("VARIANTS", ("a",), "VARIANTS: found tuple"),
    ("VARIANTS", {"a": ()}, "VARIANTS 'a'"),
    ("SHAPES", {"odd": {"z": (1,)}}, "SHAPES 'odd'"),
], ids=lambda value: str(value)[:30])
def test_a_wrong_part_is_named_with_what_was_expected(part, value, said):
    with pytest.raises(GraphError) as caught:
        from_module(module(**{part: value}), "made")
    assert said in str(caught.value)
    assert str(caught.value).startswith("made.py: ")
    assert "\n" not in str(caught.value)
    assert "docs/graph_files.md" in str(caught.value)


def test_an_input_of_one_variant_names_a_value_that_is_there():
    made = module(INPUTS=(Input("s", (), when=("tile", "512")),),
                  VARIANTS={"tile": ("whole", 512)})
    assert from_module(made, "made").inputs[0].when == ("tile", "512")


def test_records_compare_by_value():
    first = Input("x", (2,), distribution=Uniform(-1, 1))
    assert first == Input("x", (2,), distribution=Uniform(-1, 1))
    assert hash(first) == hash(Input("x", (2,), distribution=Uniform(-1, 1)))
