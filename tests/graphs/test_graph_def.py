"""Model files that are none, and libraries that would unfold without end."""

from __future__ import annotations

import pytest

from graphs.build import BuildOptions, build_graph
from graphs.errors import GraphError
from graphs.source import resolve

pytestmark = pytest.mark.tf


def test_functions_that_unfold_without_end_are_refused(tf, tmp_path):
    definition = tf.GraphDef()
    for name, callee in (("f", "f"), ("g", "h"), ("h", "i"), ("i", "g")):
        function = definition.library.function.add()
        function.signature.name = name
        for index in range(2):
            function.node_def.add(name=f"n{index}", op=callee)
    definition.node.add(name="a", op="f")
    path = tmp_path / "bomb.pb"
    path.write_bytes(definition.SerializeToString())
    with pytest.raises(GraphError, match="unfold to more than"):
        build_graph(tf, resolve(str(path)), BuildOptions())


@pytest.mark.parametrize(("name", "data", "said"), [
    ("g.pb", b"", "found no nodes"), ("g.pbtxt", b"", "found no nodes"),
    ("g.pb", b"\xff" * 64, "not a GraphDef"),
    ("g.pbtxt", b"node { name: 'x' op: 'Placeholder' }\nnode { nam: 3 }",
     "g.pbtxt:2: not a GraphDef in text form"),
    ("g.pbtxt", b"\xff\xfe", "not a GraphDef"),
    ("g.pb", b"node { name: 'x' }", "g.pb: "),
], ids=["empty", "empty-text", "noise", "text", "bytes", "text-as-binary"])
def test_a_file_of_another_kind_is_refused(tf, tmp_path, name, data, said):
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(GraphError) as caught:
        build_graph(tf, resolve(str(path)), BuildOptions())
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
