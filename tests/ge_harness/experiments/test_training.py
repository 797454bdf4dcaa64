"""Training on the TensorFlow that is here: engines, kills, the command."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from ge_harness.backends import tf_loader, training_model
from ge_harness.records.job import JobFailure
from ge_harness.records.run import Environment, FailureKind
from ge_harness.records.training import TrainingConfig
from ge_harness.worker import training_launch
from ge_harness.worker.training_state import CURVES, TrainingFolder

ROOT = Path(__file__).resolve().parents[3]
SITE = ROOT / "tests" / "standin" / "site"
TINY = TrainingConfig(layers=1, width=16, heads=2, sequence=16, batch=2, positions=16,
                      steps=12, sample_every=5, checkpoint_every=4, train_bytes=9000,
                      learning_rate=3e-3)
TINY_WORDS = ("--variant=layers=1", "--variant=width=16", "--variant=heads=2",
              "--variant=sequence=16", "--variant=batch=2", "--variant=sample_every=5")

pytestmark = [pytest.mark.tf, pytest.mark.slow, pytest.mark.skipif(
    not tf_loader.installed(), reason="TensorFlow is not installed")]


@pytest.fixture
def text(tmp_path):
    stream = np.random.RandomState(5)
    words = [bytes(stream.randint(97, 122, 5).astype(np.uint8)) for _ in range(20)]
    joined = b" ".join(words[place] for place in stream.randint(0, 20, 2000))[:10000]
    path = tmp_path / "corpus.npy"
    np.save(str(path), np.frombuffer(joined, np.uint8))
    return dataclasses.replace(TINY, corpus_path=str(path))


def train(tmp_path, config, backend, name=""):
    folder = TrainingFolder(tmp_path / (name or backend))
    outcome = training_launch.train(
        training_launch.request_of(backend, 2, 300.0), config, folder.path,
        tmp_path / "jobs", lambda said: None)
    return folder, outcome


def trained(tmp_path, config, backend, name=""):
    folder, outcome = train(tmp_path, config, backend, name)
    assert isinstance(outcome, Environment), outcome
    return folder


def forward(config, weights, tokens):
    """Return the loss in float64, written from the paper and not from the product."""
    named = dict(zip([name for name, _ in training_model.shapes(config)],
                     [np.asarray(each, np.float64) for each in weights]))

    def norm(x, key):
        mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
        return (x - mean) / np.sqrt(var + 1e-5) * named[f"{key}.g"] + named[f"{key}.b"]

    depth = config.width // config.heads
    x = named["wte"][tokens[:, :-1]] + named["wpe"][:config.sequence]
    for layer in range(config.layers):
        key = f"h{layer}."
        qkv = norm(x, f"{key}ln_1") @ named[f"{key}attn.w"] + named[f"{key}attn.b"]
        parts = np.split(qkv, 3, axis=-1)
        heads = []
        for head in range(config.heads):
            q, k, v = (part[..., head * depth:(head + 1) * depth] for part in parts)
            scores = q @ k.transpose(0, 2, 1) / math.sqrt(depth)
            scores = np.where(np.tri(config.sequence, dtype=bool), scores, -np.inf)
            shares = np.exp(scores - scores.max(-1, keepdims=True))
            heads.append(shares / shares.sum(-1, keepdims=True) @ v)
        x = x + (np.concatenate(heads, -1) @ named[f"{key}attn.proj.w"]
                 + named[f"{key}attn.proj.b"])
        h = norm(x, f"{key}ln_2") @ named[f"{key}mlp.w"] + named[f"{key}mlp.b"]
        h = 0.5 * h * (1 + np.tanh(math.sqrt(2 / math.pi) * (h + 0.044715 * h ** 3)))
        x = x + h @ named[f"{key}mlp.proj.w"] + named[f"{key}mlp.proj.b"]
    logits = norm(x, "ln_f") @ named["wte"].T
    logits = logits - logits.max(-1, keepdims=True)
    logs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    targets = tokens[:, 1:]
    picked = np.take_along_axis(logs, targets[..., None], -1)
    return -picked.mean()


@pytest.mark.parametrize("backend", ["eager", "xla", "grappler"])
def test_one_step_has_the_loss_and_the_gradient_of_the_model(tmp_path, text, backend):
    config = dataclasses.replace(text, layers=2, steps=1)
    folder = trained(tmp_path, config, backend)
    weights = training_model.initial(config)
    weights = weights[:len(weights) // 3]
    corpus = np.load(config.corpus_path)
    tokens = np.stack([corpus[place:place + config.sequence + 1]
                       for place in training_model.positions(config)[0]]).astype(int)
    assert folder.curve("loss")[0] == pytest.approx(
        forward(config, weights, tokens), rel=1e-5)
    # The first moment after one step points along the gradient; along it the loss
    # changes as fast as the norm says.
    with np.load(str(folder.checkpoint_path)) as held:
        state = [held[name] for name in sorted(held.files) if name.startswith("state")]
    count = len(state) // 3
    moment = [each.astype(np.float64) for each in state[count:2 * count]]
    length = math.sqrt(sum(float((each * each).sum()) for each in moment))
    ahead, behind = ([weight + sign * 1e-4 * each / length for weight, each
                      in zip(weights, moment)] for sign in (1, -1))
    slope = (forward(config, ahead, tokens) - forward(config, behind, tokens)) / 2e-4
    assert folder.curve("gradient_norm")[0] == pytest.approx(slope, rel=1e-3)


@pytest.mark.parametrize("backend", ["eager", "xla", "grappler"])
def test_training_learns_and_every_engine_gives_nearly_the_same(
        tmp_path, text, backend):
    config = dataclasses.replace(text, steps=40, sample_every=20)
    folder = trained(tmp_path, config, backend)
    base = trained(tmp_path, config, "eager", "base")
    loss = folder.curve("loss")
    assert loss[-5:].mean() < loss[:5].mean() - 0.3
    np.testing.assert_allclose(loss, base.curve("loss"), rtol=1e-3)
    assert list(folder.curve("eval_steps")) == [20, 40]


def test_half_precision_trains(tmp_path, text):
    config = dataclasses.replace(text, dtype="float16")
    loss = trained(tmp_path, config, "eager").curve("loss")
    assert np.isfinite(loss).all()
    full = trained(tmp_path, text, "eager", "full").curve("loss")
    assert not np.array_equal(loss, full)
    np.testing.assert_allclose(loss, full, rtol=0.02)


@pytest.mark.parametrize("backend", ["eager", "grappler"])
def test_a_killed_run_goes_on_and_gives_the_same_bits(tmp_path, text, backend):
    # Long enough that the kill comes before the end.
    config = dataclasses.replace(text, steps={"eager": 250, "grappler": 1500}[backend],
                                 checkpoint_every=10, sample_every=50)
    code = (
        "import json, sys; from pathlib import Path\n"
        "from ge_harness.records.training import TrainingConfig\n"
        "from ge_harness.worker import training_launch as launch\n"
        "root = Path(sys.argv[1])\n"
        "launch.train(launch.request_of(sys.argv[2], 2, 300.0), "
        "TrainingConfig(**json.loads(sys.argv[3])), root / 'killed', root / 'jobs', "
        "lambda said: None)\n")
    parent = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path), backend,
         json.dumps(dataclasses.asdict(config))], cwd=str(ROOT),
        env={**os.environ, "PYTHONPATH": str(ROOT)})
    folder = TrainingFolder(tmp_path / "killed")
    until(lambda: folder.checkpoint_path.exists() or parent.poll() is not None)
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    until(lambda: not workers(tmp_path))
    assert folder.result() is None, "it was finished before the kill"
    with np.load(str(folder.checkpoint_path)) as held:
        assert 10 <= len(held["loss"]) < config.steps
    trained(tmp_path, config, backend, "killed")
    whole = trained(tmp_path, config, backend, "whole")
    assert folder.result().processes == 2
    assert whole.result().processes == 1
    for name in CURVES:
        assert folder.curve(name).tobytes() == whole.curve(name).tobytes(), name


def until(holds):
    """Wait until something holds, a minute at most."""
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def workers(folder):
    """Return the processes whose command line names a folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(folder / "jobs").encode() in path.read_bytes():
                found.append(path)
        except OSError:
            continue
    return found


def test_a_checkpoint_of_another_seed_is_refused(tmp_path, text):
    trained(tmp_path, dataclasses.replace(text, stop=4), "eager", "one")
    (tmp_path / "one" / "result.json").unlink()
    _, outcome = train(tmp_path, dataclasses.replace(text, seed=1), "eager", "one")
    assert isinstance(outcome, JobFailure)
    assert "another run" in outcome.message


def test_a_stopped_run_goes_on_to_the_end(tmp_path, text):
    trained(tmp_path, dataclasses.replace(text, stop=5), "eager", "parts")
    parts = trained(tmp_path, text, "eager", "parts")
    whole = trained(tmp_path, text, "eager", "whole")
    assert parts.curve("loss").tobytes() == whole.curve("loss").tobytes()


def test_a_run_that_takes_too_long_is_a_named_failure(tmp_path, text):
    config = dataclasses.replace(text, steps=100000)
    outcome = training_launch.train(
        training_launch.request_of("eager", 2, 8.0), config, tmp_path / "long",
        tmp_path / "jobs", lambda said: None)
    assert isinstance(outcome, JobFailure)
    assert outcome.kind is FailureKind.TIMEOUT


def test_summaries_are_written_or_it_is_said_why_not(tmp_path, text):
    folder = trained(tmp_path, text, "eager")
    words = folder.result().summaries
    try:
        import tensorboard  # noqa: F401
    except ImportError:
        assert "ge-harness[tensorboard]" in words
        assert not folder.summaries_dir.exists()
        return
    events = list(folder.summaries_dir.glob("events.out.tfevents*"))
    assert events
    held = b"".join(path.read_bytes() for path in events)
    for name in (b"eval_loss", b"gradient_norm", b"loss", b"perplexity"):
        assert name in held


def command(tmp_path, *words, env=None):
    """Run `experiment E` and return its exit status and document."""
    done = subprocess.run(
        [sys.executable, "-m", "ge_harness", "experiment", "E", "--json", *TINY_WORDS,
         *words], cwd=str(ROOT), env={**os.environ, **(env or {})}, timeout=400,
        capture_output=True)
    text = done.stdout.decode()
    return done.returncode, json.loads(text) if text else done.stderr.decode()


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("e") / "run"
    status, report = command(
        folder, "--backend=xla", "--steps=12", f"--out={folder}")
    return folder, status, report


def test_the_command_gives_a_verdict_with_evidence(finished):
    _, status, report = finished
    assert status == {"holds": 0, "refuted": 1, "inconclusive": 4}[report["verdict"]]
    assert report["verdict"] != "inconclusive", report["why"]
    assert all(each["ok"] for each in report["evidence"])
    assert "fused kernels" in report["evidence"][0]["found"]


def test_numbers_of_the_report_are_those_of_the_stored_curves(finished):
    folder, _, report = finished
    eager, compiled = (
        {Path(path).stem: np.load(str(folder / "E" / path)) for path
         in report["artifacts"][name]} for name in ("eager seed 0", "xla seed 0"))
    rows = [dict(zip(report["table"]["columns"], row))
            for row in report["table"]["rows"]]
    assert [row["step"] for row in rows] == [5, 10, 12]
    for place, row in enumerate(rows):
        step = row["step"]
        assert row["loss eager"] == eager["loss"][step - 1]
        assert row["loss compiled"] == compiled["loss"][step - 1]
        assert row["norm difference"] == float(compiled["gradient_norm"][step - 1]) - (
            float(eager["gradient_norm"][step - 1]))
        assert row["eval compiled"] == compiled["eval_loss"][place]
        assert row["perplexity eager"] == pytest.approx(
            math.exp(eager["eval_loss"][place]), rel=1e-12)


def test_without_its_dumps_the_same_run_is_inconclusive(finished):
    folder, _, _ = finished
    for path in (folder / "E" / "jobs").glob("train-xla-seed-0-*/dumps/*"):
        path.unlink()
    status, report = command(
        folder, "--backend=xla", "--steps=12", f"--resume={folder}")
    assert (status, report["verdict"]) == (4, "inconclusive")
    assert "no dumps to read" in report["why"]


needs_adapter = pytest.mark.skipif(
    not tf_loader.installed().startswith(("1.15", "2.6")),
    reason="the adapter exists for TensorFlow 1.15 and 2.6")


@needs_adapter
def test_ge_trains_through_its_adapter_and_is_labelled_a_stand_in(tmp_path):
    (tmp_path / "journal").mkdir()
    status, report = command(
        tmp_path, "--backend=ge", "--steps=12", f"--out={tmp_path / 'run'}",
        env={"PYTHONPATH": str(SITE), "STANDIN_MODE": "normal",
             "STANDIN_JOURNAL": str(tmp_path / "journal")})
    assert report["verdict"] in ("holds", "refuted"), (status, report)
    assert "stand-in" in report["backend"]["label"]
    assert "offload proved" in report["evidence"][0]["found"]
    sent = [event for path in (tmp_path / "journal").iterdir()
            for event in map(json.loads, path.read_text().splitlines())
            if event["event"] == "config"]
    assert any(entry[0] == "graph_run_mode" and entry[-1] == 1 for event in sent
               for entry in entries(event["entries"]))


def entries(found):
    """Return (name, ..., value) of the options in a journal."""
    if isinstance(found, dict):
        return [(name, *(value if isinstance(value, list) else [value]))
                for name, value in found.items()]
    return [tuple(each) for each in found]


@needs_adapter
def test_training_that_would_run_on_the_host_is_no_run_of_ge(tmp_path):
    (tmp_path / "journal").mkdir()
    status, report = command(
        tmp_path, "--backend=ge", "--steps=12", f"--out={tmp_path / 'run'}",
        env={"PYTHONPATH": str(SITE), "STANDIN_MODE": "plugin_missing",
             "STANDIN_JOURNAL": str(tmp_path / "journal")})
    assert (status, report["verdict"]) == (4, "inconclusive")
    assert "not_offloaded" in report["why"]
