from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from ge_harness.backends import tf_loader
from ge_harness.worker import environment

ROOT = Path(__file__).resolve().parents[3]


def _python(code, path=()):
    """Run code in a process of its own and return what it printed."""
    variables = dict(environment.prepare(os.environ, {}, 2).variables)
    variables["PYTHONPATH"] = os.pathsep.join([*map(str, path), str(ROOT)])
    variables["TF_CPP_MIN_LOG_LEVEL"] = "3"
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], env=variables,
                          capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    return done.stdout.decode().strip()


def _pretend(folder, body, version="9.8.7"):
    (folder / "tensorflow").mkdir()
    (folder / "tensorflow" / "__init__.py").write_text(body)
    (folder / f"tensorflow_cpu-{version}.dist-info").mkdir()
    return folder


def test_the_version_is_read_without_importing(tmp_path):
    _pretend(tmp_path, "raise SystemExit('imported')")
    assert _python("""
        from ge_harness.backends import tf_loader
        print(tf_loader.installed(), tf_loader.probe().reason)
    """, [tmp_path]) == "9.8.7 TensorFlow 9.8.7"


@pytest.mark.parametrize(("body", "words"), [
    ("raise ImportError('libfoo.so.1: no such file')", "libfoo.so.1"),
    ("raise TypeError('Descriptors cannot not be created directly.')", "below 3.21"),
], ids=["library", "protobuf"])
def test_a_tensorflow_that_does_not_import_is_unavailable_with_its_reason(
        tmp_path, body, words):
    _pretend(tmp_path, body)
    said = _python("""
        from ge_harness.backends import tf_loader
        from ge_harness.errors import UnavailableError
        try:
            tf_loader.load()
        except UnavailableError as error:
            print(error)
    """, [tmp_path])
    assert words in said


def test_no_tensorflow_is_said_with_the_way_out(monkeypatch):
    monkeypatch.setattr(tf_loader.importlib.util, "find_spec", lambda name: None)
    found = tf_loader.probe()
    assert not found.usable
    assert found.checks[0][2] == "fail"
    assert "pip install" in found.checks[0][3]


def test_plain_arrays_stay_as_they_are():
    array = np.array(-0.0, np.float32)
    assert tf_loader.from_tf_array(array).tobytes() == array.tobytes()
    assert tf_loader.from_tf_array(array).shape == ()


@pytest.mark.tf
def test_every_bfloat16_goes_to_tensorflow_and_back_with_its_bits():
    assert _python("""
        import numpy as np
        from ge_harness.backends import tf_loader
        tf = tf_loader.load()
        bits = np.arange(65536, dtype=np.uint16).reshape(256, 256)
        given = tf_loader.to_tf_array(tf, bits, "bfloat16")
        assert given.dtype.name == "bfloat16", given.dtype
        tf_loader.start(tf, 1)
        tensor = tf.constant(given)
        assert tensor.dtype == tf.bfloat16
        for back in (tf_loader.from_tf_array(tensor), tf_loader.from_tf_array(given)):
            assert back.dtype == np.uint16
            assert back.tobytes() == bits.tobytes()
        scalar = tf_loader.to_tf_array(tf, np.array(0x3f80, np.uint16), "bfloat16")
        assert scalar.shape == () and float(scalar) == 1.0
        whole = tf_loader.to_tf_array(tf, bits, "uint16")
        assert whole.dtype == np.uint16
        print("done")
    """) == "done"


@pytest.mark.tf
def test_a_node_in_a_graph_gives_the_bits_of_the_eager_one():
    assert _python("""
        import numpy as np
        from ge_harness.backends import tf_loader
        tf = tf_loader.load()
        tf_loader.start(tf, 2)
        assert tf_loader.start(tf, 2) == tf_loader.pools(tf)
        graph = tf.Graph()
        with graph.as_default():
            x = tf.compat.v1.placeholder(tf.float32, [3, 4], name="x")
            parts = tf.split(tf.concat([x, x], 1), 2, axis=1)
            sums = tf.reduce_sum(parts[0], [-1], name="s")
        graph_def = graph.as_graph_def()
        values = {"x": [tf.constant(np.linspace(0, 1, 12, dtype=np.float32)
                                    .reshape(3, 4))]}
        for node in graph_def.node:
            if node.op == "Placeholder":
                continue
            inputs = [values[text.split(":")[0]][int((text + ":0").split(":")[1])]
                      for text in node.input]
            values[node.name] = tf_loader.execute_node(tf, node, inputs)
            if node.op == "Const":
                continue
            with tf.Graph().as_default() as other:
                fed = [tf.compat.v1.placeholder(i.dtype, i.shape) for i in inputs]
                got = tf_loader.trace_node(tf, node, fed)
                config = tf_loader.session_config(tf, 2)
                with tf.compat.v1.Session(config=config) as session:
                    given = dict(zip(fed, [i.numpy() for i in inputs]))
                    found = session.run(got, given)
            assert [a.tobytes() for a in found] == [
                b.numpy().tobytes() for b in values[node.name]], node.name
        print(len(values))
    """) != "0"


@pytest.mark.tf
def test_an_op_that_no_tensorflow_has_is_named():
    assert "NoSuchOp" in _python("""
        from ge_harness.backends import tf_loader
        from ge_harness.backends.base import BackendFailure
        tf = tf_loader.load()
        tf_loader.start(tf, 1)
        node = tf.compat.v1.NodeDef(name="n", op="NoSuchOp")
        try:
            tf_loader.execute_node(tf, node, [])
        except BackendFailure as failure:
            print(failure)
    """)


@pytest.mark.tf
def test_loading_runs_no_op_so_a_fork_is_still_possible():
    assert _python("""
        import os
        from ge_harness.backends import tf_loader
        tf = tf_loader.load()
        pid = os.fork()
        if pid == 0:
            tf_loader.start(tf, 2)
            os._exit(int(tf.reduce_sum(tf.constant([3, 4]))))
        print(os.waitpid(pid, 0)[1] >> 8)
    """) == "7"


@pytest.mark.parametrize(("text", "line"), [
    ("assertion failed: [must be positive] [-1]\n\t [[{{node A}}]]",
     "assertion failed: [must be positive] [-1]"),
    ("Graph execution error:\n\nDetected at node A/Assert defined at (most recent call "
     'last):\n  File "x.py", line 6, in <module>\n\n  File "x.py", line 4, in f\n\n'
     "assertion failed: [must be positive] [-1]\n\t [[{{node A}}]] [Op:__inference_f]",
     "assertion failed: [must be positive] [-1]"),
    ("Graph execution error:\n\nDetected at node B defined at (most recent call "
     "last):\n<stack traces unavailable>\n{{function_node f}} out of range",
     "out of range"),
    ("Graph execution error:", "Graph execution error:"),
    ("", "ValueError"),
])
def test_the_line_that_says_what_failed_is_found(text, line):
    assert tf_loader.first_line(ValueError(text)) == line
