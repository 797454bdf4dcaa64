"""The HLO passes of XLA's CPU pipelines, by TensorFlow.

XLA ignores the name of a pass it does not have, and a pass that changes nothing leaves
no dump on two of three stacks, so only a list tells the two apart. A few names hold
blanks; in dump file names they are underscores.

Source: the names that XLA's own log of hlo_pass_pipeline gives for matmul and softmax
in float32, float16 and bfloat16 on TensorFlow 1.15.5, 2.6.5 and 2.21.0 for CPU, and
the three parts of copy-insertion from dump file names.
"""

from __future__ import annotations

import re


def _names(text: str) -> frozenset[str]:
    return frozenset(name.strip() for name in re.sub(r"\s+", " ", text).split(";"))


_TF_1_15 = _names("""
    CallInliner; adding_copies_to_resolve_interference; adding_special-case_copies;
    after layout assignment; algsimp; batch-dot-simplification; batchnorm_expander;
    cholesky_expander; conditional-to-select; constant_folding;
    convolution-canonicalization; convolution-group-converter; copy-insertion;
    cpu-parallel-task-assigner; cpu_hlo_support_checker; cse; dce; dot_decomposer;
    dynamic-index-splitter; element_type_converter; flatten-call-graph; fusion;
    hlo-get-dimension-size-rewriter; indexed-array-analysis-printer-pass;
    layout-assignment; map-inline; removing_unnecessary_copies; reshape-mover;
    rng-expander; scatter_expander; simplification; simplification after layout
    assignement; simplify-conditional; simplify-sorts; simplify-while-loops;
    transpose-folding; triangular_solve_expander; tuple-simplifier;
    while-loop-constant-sinking; while-loop-invariant-code-motion;
    zero_sized_hlo_elimination
""")
_TF_2_6 = _names("""
    CallInliner; adding_copies_to_resolve_interference; adding_special-case_copies;
    after layout assignment; algsimp; all_gather_decomposer; all_to_all_decomposer;
    batch-dot-simplification; batchnorm_expander; cholesky_expander;
    comparison-expander; conditional canonicalizer; conditional-to-select;
    constant_folding; convolution-canonicalization; convolution-group-converter;
    copy-insertion; cpu-parallel-task-assigner; cse; dce; dot_decomposer;
    dynamic-index-splitter; dynamic_padder; eigh_expander; element_type_converter;
    flatten-call-graph; fusion; gather_expander;
    indexed-array-analysis-printer-pass; layout-assignment; logistic-expander;
    map-inline; operand_upcaster; qr_expander; removing_unnecessary_copies;
    reshape-mover; result_caster; rng-bit-generator-expander; rng-expander;
    scatter_expander; simplification; simplification after layout assignment;
    simplify-conditional; simplify-sorts; simplify-while-loops; topk-rewriter;
    transpose-folding; tree_reduction_rewriter; triangular_solve_expander;
    tuple-simplifier; while-loop-constant-sinking; while-loop-invariant-code-motion;
    zero_sized_hlo_elimination
""")
_TF_2_21 = _names("""
    adding_copies_to_resolve_interference; adding_special-case_copies; after layout
    assignment; algsimp; all-reduce-promotion; all_to_all_decomposer;
    batch-dot-simplification; batched_gather_scatter_normalizer; batchnorm_expander;
    bitcast_dtypes_expander; broadcast_canonicalizer; call-inliner;
    change-op-data-type; cholesky_expander; comparison-expander;
    conditional-canonicalizer; conditional-to-select; constant_folding;
    convolution-canonicalization; convolution-group-converter; copy-insertion;
    cpu-all-reduce-combiner; cpu-parallel-task-assigner; cse; cse_barrier_expander;
    dce; dot-library-rewriter; dot_decomposer; dynamic-dimension-simplifier;
    dynamic-index-splitter; dynamic_padder; eigh_expander; flatten-call-graph;
    float-normalization-bf16; float-normalization-f4e2m1fn;
    float-normalization-f8e3m4; float-normalization-f8e4m3;
    float-normalization-f8e4m3b11fnuz; float-normalization-f8e4m3fn;
    float-normalization-f8e4m3fnuz; float-normalization-f8e5m2;
    float-normalization-f8e5m2fnuz; float-normalization-f8e8m0fnu;
    float-normalization-s4; float-normalization-u4; fusion; fusion-wrapper;
    gather_expander; gather_simplifier; layout-assignment; literal-canonicalizer;
    logistic-expander; map-inline; operand_upcaster;
    optimize_input_output_buffer_alias; post_scatter_expansion_simplification;
    qr_expander; reduce-decomposer; reduce-window-resizer; reduce-window-rewriter;
    removing_unnecessary_copies; reshape-decomposer; reshape-mover; result_caster;
    rng-bit-generator-expander; rng-expander; scatter_expander; scatter_simplifier;
    select_and_scatter_expander; shape-canonicalizer; sharding-remover;
    simplification; simplification after layout assignment; simplify-conditional;
    simplify-sorts; simplify-while-loops; small-while-loop-hoisting;
    stochastic_convert_decomposer; sub-byte-size-setter; topk-decomposer;
    topk-rewriter; transpose-folding; tree_reduction_rewriter;
    triangular_solve_expander; tuple-simplifier; while-loop-constant-sinking;
    while-loop-invariant-code-motion; while-loop-trip-count-annotator;
    zero_sized_hlo_elimination
""")

_BY_VERSION = {(1, 15): _TF_1_15, (2, 6): _TF_2_6, (2, 21): _TF_2_21}


def of_version(version: str) -> frozenset[str] | None:
    """Return the passes of a TensorFlow, None where no list was made for it.

    Args:
        version: "2.21.0".
    """
    numbers = [int(part) for part in re.findall(r"\d+", version)[:2]]
    return _BY_VERSION.get((numbers[0], numbers[1])) if len(numbers) == 2 else None


def in_dumps(name: str) -> str:
    """Return a pass's name as dump file names have it."""
    return name.replace(" ", "_")
