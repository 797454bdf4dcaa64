"""One compilation: GE's passes and dump stages in GE's order, then the kernel plan.

Source: reference: dump_stages.tsv; ge_optimization.md sections 6 and 9;
autofuse_fusion_rules.md section 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Callable, Union

from ge_harness.backends.emulator.autofuse import run as autofuse
from ge_harness.backends.emulator.autofuse.solve import Rejection
from ge_harness.backends.emulator.edits import Edit, between
from ge_harness.backends.emulator.ir import AscRegion, Graph, KernelPlan
from ge_harness.backends.emulator.options import CompileOptions, is_on
from ge_harness.backends.emulator.passes import (
    broadcast_reduce,
    engine,
    engine_patterns,
    fold,
    tidy,
)
from ge_harness.backends.emulator.passes.base import Pass
from ge_harness.backends.emulator.plan import make_plan

AUTOFUSE = "AutoFusePass"


@dataclass(frozen=True)
class Ran:
    """What became of one pass at one place.

    Attributes:
        family: of the catalogue.
        name: of the pass.
        label: in front of the name in GE's records.
        stage: the next dump behind it.
        is_on: it ran.
        effects: how often it changed something.
    """

    family: str
    name: str
    label: str
    stage: str
    is_on: bool
    effects: int


@dataclass
class Compilation:
    """Everything that one compilation gives.

    Attributes:
        plan: the kernels.
        stages: (stage, graph) of every dump, in order.
        ran: every pass of the model at every place, in order.
        edits: what each pass added and removed, in order.
        rejections: pairs that CanFuse refused.
        fallbacks: (node, why it was not lowered).
        lifted: fused nodes turned back.
        regions: name of a fused node -> its kernel.
    """

    plan: KernelPlan
    stages: list[tuple[str, Graph]]
    ran: list[Ran]
    edits: list[Edit]
    rejections: tuple[Rejection, ...] = ()
    fallbacks: tuple[tuple[str, str], ...] = ()
    lifted: tuple[str, ...] = ()
    regions: dict[str, AscRegion] = field(default_factory=dict)

    def effects(self, family: str, name: str) -> int:
        """Return how often a pass changed something, over all its places."""
        return sum(each.effects for each in self.ran
                   if (each.family, each.name) == (family, name))


def _ge(label: str, name: str, run: Callable[[Graph], int]) -> Pass:
    return Pass("ge", name, label, run)


def _fe(name: str, run: Callable[[Graph], int]) -> Pass:
    return Pass("graph_fusion", name, "", run)


Step = Union[str, Pass]
_INFER = (
    _ge("Prepare", "ReplaceWithEmptyConstPass", fold.empty_const),
    _ge("Prepare", "DimensionComputePass", fold.dimension_compute),
    _ge("Prepare", "ConstantFoldingPass", fold.constant_folding),
)
_BEFORE: tuple[Step, ...] = (
    "PreRunBegin", "PreRunAfterOptimizeGraphPrepare", "AfterFirstInferformat",
    *_INFER, "AfterInfershape", "AfterSecondInferformat",
    _ge("PrepareOptimize", "StopGradientPass", tidy.stop_gradient),
    _ge("PrepareOptimize", "PreventGradientPass", tidy.prevent_gradient),
    _ge("PrepareOptimize", "SnapshotPass", tidy.snapshot),
    _ge("PrepareOptimize", "PlaceholderWithDefaultPass", tidy.placeholder_with_default),
    _ge("PrepareOptimize", "IdentityPass", tidy.identity),
    _ge("PrepareOptimize", "NoUseReshapeRemovePass", tidy.no_use_reshape),
    _ge("PrepareOptimize", "UnchangedTransposeRemovePass", tidy.unchanged_transpose),
    _ge("PrepareOptimize", "PrunePass", tidy.prune),
    "PrepareAfterPrepareOptimize", "PreRunAfterPrepare",
    "OptimizeQuantGraph_FeGraphFusionAfter",
    _fe("MatMulBiasAddFusionPass", engine.mat_mul_bias_add),
    _fe("RealDiv2MulsFusionPass", engine.real_div_to_muls),
    _fe("LayerNormFusionPass", engine_patterns.layer_norm),
    _fe("SoftmaxFusionPass", engine_patterns.softmax),
    _fe("GeluFusionPass", engine_patterns.gelu),
    "OptimizeOriginalGraph_FeGraphFusionAfter", "PreRunAfterOptimizeOriginalGraph",
    "BeforeOptimizeOriginalGraphJudgeInsert",
    "OptimizeOriginalGraph_FeOpDtypeJudgeAfter", "PreRunAfterRefineRunningPrecision",
    "AfterPrecisionRefine",
)
_PREPROCESS: tuple[Step, ...] = (
    "AutofuseOptimize_Entry",
    _ge("PreRun", "CommonSubexpressionEliminationPass", tidy.common_subexpression),
    _ge("PreRun", "ConstantFoldingPass", fold.constant_folding),
    _ge("PreRun", "CommonSubexpressionEliminationPass", tidy.common_subexpression),
    "AutofuseOptimize_AfterPreprocess", "Autofuser_AfterSymbolicInferPreProcess",
)
_AFTER: tuple[Step, ...] = (
    "PreRunAfterAfterPrecisionRefine", "OptimizeOriginalGraph_FeOpFormatJudgeAfter",
    "PreRunAfterRefineRunningFormat", "PreRunAfterSubexpressionMigration",
    _ge("OptimizeStage1_1", "ConstantFuseSamePass", tidy.same_const),
    _ge("OptimizeStage1_1", "CommonSubexpressionEliminationPass",
        tidy.common_subexpression),
    "OptimizeStage1_1",
    _ge("OptimizeStage1_2", "ConstantFoldingPass", fold.constant_folding),
    _ge("OptimizeStage1_2", "AddNPass", tidy.add_n),
    _ge("OptimizeStage1_2", "CastRemovePass", tidy.cast_remove),
    "OptimizeStage1_2",
    _ge("OptimizeStage1_3", "IdentityPass", tidy.identity),
    _ge("OptimizeStage1_3", "RemoveSameConstPass", tidy.same_const),
    _ge("OptimizeStage1_3", "PrunePass", tidy.prune),
    "PreRunAfterOptimize1", "PreRunAfterOptimizeSubgraph",
    "PreRunAfterOptimizeWholeGraph", "PreRunAfterOptimize2", "Build",
    "PreRunAfterBuild",
)
_PATTERNS: tuple[tuple[str, Callable[[Graph], int]], ...] = (
    ("CastRemovePass", tidy.cast_pair),
    ("CascadeReshapeRemovePass", tidy.cascade_reshape),
    ("BroadcastReduceEliminationPass", broadcast_reduce.broadcast_reduce),
)
_UNFILTERED: tuple[tuple[str, Callable[[Graph], int]], ...] = (
    ("PrunePass", tidy.prune),
    ("ConstantFoldingPass", fold.constant_folding),
    ("AlgebraicSimplificationPass", tidy.useless_binary),
)
"""AutoFusePass calls these itself: no switch and no option reaches them there.

Source: reference: ge_optimization.md section 6."""


def compile_graph(graph: Graph, options: CompileOptions) -> Compilation:
    """Compile a graph as GE would, as far as its rules are public.

    Args:
        graph: under GE's names; it is not changed.
        options: level, switches, chip, AutoFuse settings.

    Raises:
        BlacklistError: a blacklist the chip cannot follow.
    """
    return _Compiler(graph.copy(), options).run()


def compile_nodewise(graph: Graph, chip: str) -> Compilation:
    """Return the plan that runs operator by operator: no pass, no fusion."""
    return Compilation(make_plan(graph, {}, chip), [("PreRunBegin", graph.copy())],
                       [], [])


class _Compiler:
    def __init__(self, graph: Graph, options: CompileOptions) -> None:
        self.graph = graph
        self.options = options
        self.stages: list[tuple[str, Graph]] = []
        self.edits: list[Edit] = []
        self.waiting: list[tuple[Pass, bool, int]] = []
        self.ran: list[Ran] = []
        self.fused = autofuse.Fused((), {})

    def run(self) -> Compilation:
        self._steps(_BEFORE)
        if self.options.autofuse.enabled:
            self._autofuse()
        self._steps(_AFTER)
        self._flush("PreRunAfterBuild")
        plan = make_plan(self.graph, self.fused.regions, self.options.chip)
        return Compilation(
            plan, self.stages, self.ran, self.edits, self.fused.rejections,
            self.fused.fallbacks, self.fused.lifted, self.fused.regions)

    def _steps(self, steps: tuple[Step, ...]) -> None:
        for step in steps:
            if isinstance(step, str):
                self._dump(step, self.graph)
            else:
                self._pass(step)

    def _dump(self, stage: str, graph: Graph) -> None:
        self._flush(stage)
        self.stages.append((stage, graph.copy()))

    def _flush(self, stage: str) -> None:
        self.ran += [Ran(each.family, each.name, each.label, stage, on, effects)
                     for each, on, effects in self.waiting]
        self.waiting = []

    def _pass(self, each: Pass) -> None:
        on = is_on(self.options, each.family, each.name)
        effects = self._edit(each) if on else 0
        self.waiting.append((each, on, effects))

    def _edit(self, each: Pass) -> int:
        before = self.graph.copy()
        effects = each.run(self.graph)
        if effects:
            self.edits += between(before, self.graph, each)
        return effects

    def _autofuse(self) -> None:
        self._steps(_PREPROCESS)
        owner = Pass("ge", AUTOFUSE, "PreRun", lambda graph: 0)
        on = is_on(self.options, "ge", AUTOFUSE)
        if on:
            before = self.graph.copy()
            inner = self._rewrites()
            self.fused = autofuse.fuse(self.graph, self.options.autofuse_options())
            for stage, graph in self.fused.stages:
                self._dump(stage, graph)
            self.graph = self.fused.stages[-1][1].copy()
            self.edits += between(before, self.graph, owner)
            self.waiting.append((owner, True, inner + len(self.fused.regions)))
            self._inner()
        else:
            self.waiting.append((owner, False, 0))
        self._dump("AutofuseOptimize_Exit", self.graph)

    def _rewrites(self) -> int:
        """The rewrites inside AutoFusePass; GE's records count them for that pass."""
        count = 0
        for name, run in _UNFILTERED:
            count += self._inside(name, run)
        self._dump("AutoFuser_BeforeAutoFuse", self.graph)
        self._dump("AutoFuser_AfterPreprocess", self.graph)
        for _ in range(3):
            changed = sum(self._inside(name, run) for name, run in _PATTERNS
                          if name != "CastRemovePass" or self.options.drop_cast_pairs)
            count += changed
            if not changed:
                break
        self._dump("AutoFuser_AfterPatternFusion", self.graph)
        return count

    def _inside(self, name: str, run: Callable[[Graph], int]) -> int:
        effects = run(self.graph)
        self.waiting.append((Pass("autofuse", name, AUTOFUSE, run), True, effects))
        return effects

    def _inner(self) -> None:
        """Record the three stages of AutoFuse and its precision pass."""
        fused = self.fused
        widened = sum(not graph.low_precision and _is_narrow(each)
                      for each in fused.regions.values() for graph in each.graphs)
        counts = (("Lowering", len(fused.boxes)), ("CanFuse", fused.merges),
                  ("Lifting", len(fused.lifted)), ("ImprovePrecisionToFp32", widened))
        for name, effects in counts:
            self.waiting.append((Pass("autofuse", name, AUTOFUSE, lambda graph: 0),
                                 True, effects))


def _is_narrow(region: AscRegion) -> bool:
    return any(op.dtype in ("float16", "bfloat16") for graph in region.graphs
               for op in graph.ops)


def passes_of_the_model() -> tuple[tuple[str, str], ...]:
    """Return (family, name) of every pass outside AutoFuse, in order, each once."""
    steps = (*_BEFORE, *_PREPROCESS, *_AFTER)
    return tuple(dict.fromkeys((step.family, step.name) for step in steps
                               if isinstance(step, Pass)))
