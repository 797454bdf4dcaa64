from __future__ import annotations

import pytest

from ge_harness.worker import environment


@pytest.mark.parametrize("name", [
    "XLA_FLAGS", "TF_XLA_FLAGS", "TF_ENABLE_ONEDNN_OPTS", "TF_DETERMINISTIC_OPS",
    "TF_ENABLE_AUTO_MIXED_PRECISION", "TF_DISABLE_JIT_KERNELS",
    "TF_NUM_INTRAOP_THREADS",
    "TF_CPP_MAX_VLOG_LEVEL", "OMP_NUM_THREADS", "MKL_CBWR", "KMP_AFFINITY",
    "NVIDIA_TF32_OVERRIDE", "CUDA_VISIBLE_DEVICES", "DUMP_GE_GRAPH", "DUMP_GRAPH_PATH",
    "AUTOFUSE_FLAGS", "AUTOFUSE_DFX_FLAGS", "DNNL_MAX_CPU_ISA", "TF_CONFIG",
    "RANK_TABLE_FILE", "CM_CHIEF_IP", "CM_WORKER_SIZE", "HELP_CLUSTER", "POD_NAME",
    "AOE_MODE", "PROFILING_MODE", "ASCEND_GE_PY_PASS_PATH", "NPU_COLLECT_PATH",
    "ENABLE_FORCE_V2_CONTROL", "MIN_COMPILE_RESOURCE_USAGE_CTRL", "OP_NO_REUSE_MEM",
    "IGNORE_INFER_ERROR", "ENABLE_NETWORK_ANALYSIS_DEBUG", "ENABLE_HF32_EXECUTION",
])
def test_what_changes_results_is_taken_out_and_recorded(name):
    made = environment.prepare({name: "polluted", "HOME": "h"}, {}, 2)
    assert dict(made.removed) == {name: "polluted"}
    assert dict(made.variables).get(name) != "polluted"
    assert dict(made.variables)["HOME"] == "h"


@pytest.mark.parametrize("name", [
    "OPENBLAS_CORETYPE", "LD_LIBRARY_PATH", "PYTHONPATH", "PATH", "ASCEND_HOME_PATH",
    "ASCEND_OPP_PATH", "HTTPS_PROXY", "LD_PRELOAD", "TF_VAR_password", "TF_LOG",
    "ASCEND_RT_VISIBLE_DEVICES"])
def test_what_does_not_stays(name):
    made = environment.prepare({name: "kept"}, {}, 2)
    assert made.removed == ()
    assert dict(made.variables)[name] == "kept"


def test_what_the_backend_adds_wins_and_is_no_removal():
    made = environment.prepare({"XLA_FLAGS": "users"}, {"XLA_FLAGS": "ours"}, 2)
    assert dict(made.variables)["XLA_FLAGS"] == "ours"
    assert dict(made.removed)["XLA_FLAGS"] == "users"


def test_pools_hashes_and_devices_are_pinned():
    made = dict(environment.prepare({"OMP_NUM_THREADS": "64"}, {}, 3).variables)
    assert made["OMP_NUM_THREADS"] == made["TF_NUM_INTRAOP_THREADS"] == "3"
    assert made["PYTHONHASHSEED"] == "0"
    assert made["CUDA_VISIBLE_DEVICES"] == "-1"
    assert "TF_ENABLE_ONEDNN_OPTS" not in made


def test_the_key_of_a_warm_worker_leaves_out_what_is_read_late_and_nothing_else():
    plain = environment.prepare({}, {}, 2)
    flags = environment.prepare({}, {"XLA_FLAGS": "a"}, 2)
    onednn = environment.prepare({}, {"TF_ENABLE_ONEDNN_OPTS": "0"}, 2)
    assert plain.at_import == flags.at_import
    assert plain.at_import != onednn.at_import
    assert plain.at_import != environment.prepare({}, {}, 3).at_import


def test_only_what_can_change_a_result_is_recorded():
    have = {"SECRET_TOKEN": "s", "TF_VAR_password": "s", "OMP_NUM_THREADS": "2",
            "OPENBLAS_CORETYPE": "Haswell"}
    assert environment.recorded(have) == (
        ("OMP_NUM_THREADS", "2"), ("OPENBLAS_CORETYPE", "Haswell"))


@pytest.mark.parametrize(("text", "expected"), [
    ("model name\t: Some CPU\nflags\t\t: fpu fma avx2 avx512_fp16 sse4_2 tsc\n",
     ("Some CPU", ("avx2", "avx512_fp16", "fma", "sse4_2"))),
    ("processor\t: 0\nFeatures\t: fp asimd asimdhp fphp sve crc32\nCPU part\t: 0xd01\n",
     ("0xd01", ("asimd", "asimdhp", "fphp", "sve"))),
], ids=["x86_64", "aarch64"])
def test_the_processor_is_named_with_its_instruction_sets(tmp_path, text, expected):
    (tmp_path / "cpuinfo").write_text(text)
    assert environment.cpu(str(tmp_path / "cpuinfo")) == expected


def test_a_machine_without_cpuinfo_is_no_failure(tmp_path):
    assert environment.cpu(str(tmp_path / "none"))[1] == ()
