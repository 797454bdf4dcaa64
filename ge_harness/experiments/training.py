"""E: a model trained eager and compiled, from one seed, on one stream of data.

Two curves that start from the same bits drift apart once one bit differs. Whether they
drift further than training does anyway is measured by eager runs with other seeds.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path

import numpy as np

from ge_harness.backends import tf_loader
from ge_harness.errors import UnavailableError
from ge_harness.experiments import training_plan, training_report
from ge_harness.experiments.bench import Bench
from ge_harness.experiments.training_report import Finished
from ge_harness.records import serialize
from ge_harness.records.experiment import ExperimentReport
from ge_harness.records.job import JobFailure
from ge_harness.records.run import FailureKind, RunRequest
from ge_harness.records.switch import SwitchSetting
from ge_harness.records.training import TrainingConfig
from ge_harness.switches.ge_setting import ge_setting
from ge_harness.worker import training_launch
from ge_harness.worker.training_state import TrainingFolder

COMPILERS = ("xla", "grappler", "ge")
_AGAIN_STEPS = {"desk": 20, "paper": 2}
# Steps that `--timeout` is for.
_STEPS_A_LIMIT = {"desk": 100, "paper": 5}


def run(bench: Bench) -> ExperimentReport:
    """Train eager with every seed, compiled with the first, and judge.

    Raises:
        UsageError: settings that make no model, or a corpus that cannot be used.
        UnavailableError: there is no TensorFlow here.
    """
    if bench.options.backend not in COMPILERS:
        return bench.report(training_report.not_applicable(bench.options.backend))
    text = training_plan.corpus(
        training_plan.wishes(bench.options).get("corpus", ""), _root(bench))
    config = training_plan.config(bench.options, text)
    sides = {}
    for name, backend, changed in _plan(bench, config):
        sides[name] = _train(bench, name, backend, changed)
        if isinstance(sides[name].outcome, JobFailure):
            break
    report = training_report.judge(
        bench, config, text, sides, bench.options.sets or training_plan.SEEDS)
    return training_report.labelled(bench.report(report), sides)


def _plan(bench: Bench, config: TrainingConfig
          ) -> list[tuple[str, str, TrainingConfig]]:
    """Return (name, backend, what to train): the compiled run early, it is short."""
    backend = bench.options.backend
    again = dataclasses.replace(config, stop=min(
        _AGAIN_STEPS[bench.options.size], config.last))
    seeds = [dataclasses.replace(config, seed=config.seed + place)
             for place in range(bench.options.sets or training_plan.SEEDS)]
    return [(f"eager seed {config.seed} again", "eager", again),
            (f"{backend} seed {config.seed} again", backend, again),
            (f"{backend} seed {config.seed}", backend, config),
            *((f"eager seed {each.seed}", "eager", each) for each in seeds)]


def _train(bench: Bench, name: str, backend: str, config: TrainingConfig) -> Finished:
    """Return a finished run, from the folder where it is there already."""
    request = _request(bench, backend, config)
    folder = TrainingFolder(_root(bench) / _folder_name(name, request, config))
    result = folder.result()
    outcome: object = None
    if result is None:
        bench.say(f"training {name}: {config.last} steps")
        outcome = training_launch.train(
            request, config, folder.path, bench.folder.jobs_dir, bench.say)
        if isinstance(outcome, JobFailure):
            if outcome.kind is FailureKind.UNAVAILABLE and not tf_loader.installed():
                raise UnavailableError(outcome.message)
            return Finished(name, folder, None, outcome)
        (folder.path / "environment.json").write_text(
            serialize.dumps("environment", outcome), encoding="utf-8")
        result = folder.result()
    return Finished(name, folder, result, None)


def _request(bench: Bench, backend: str, config: TrainingConfig) -> RunRequest:
    options = bench.options
    limit_s = options.timeout_s * max(1.0, config.last / _STEPS_A_LIMIT[options.size])
    request = training_launch.request_of(backend, options.threads, limit_s)
    if backend == "eager":
        return request
    setting = options.setting
    if backend == "ge":
        setting = _for_training(setting)
    return dataclasses.replace(
        request, setting=setting, options=options.backend_options)


def _for_training(setting: SwitchSetting) -> SwitchSetting:
    """Return the setting with GE's mode of training, unless the user chose a mode."""
    own = {item.switch.name for item in setting.values}
    more = ge_setting({"graph_run_mode": "1"}).values
    return dataclasses.replace(setting, values=(
        *setting.values, *(item for item in more if item.switch.name not in own)))


def _root(bench: Bench) -> Path:
    return bench.folder.path / "training"


def _folder_name(name: str, request: RunRequest, config: TrainingConfig) -> str:
    """Return a name that another model, schedule, switch or version does not have."""
    held = serialize.to_plain(dataclasses.replace(config, corpus_path=""))
    text = json.dumps([held, serialize.to_plain(request.setting), request.threads,
                       list(request.options), np.__version__, tf_loader.installed()],
                      sort_keys=True)
    digest = hashlib.sha256(text.encode("utf-8")).hexdigest()[:8]
    return f"{name.replace(' ', '-')}-{digest}"


