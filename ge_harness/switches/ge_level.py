"""Optimization levels and presets of GE, as what can really be sent.

GE takes O1 and O3 and answers O0 with E10001. The harness' O0 is the recipe nearest to
"functional passes only"; what must stay for a graph to compile is kept, and named.

Source: reference: ge_optimization.md sections 2, 5, 7 and 8; tf_adapter.md section 4.4.
"""

from __future__ import annotations

from dataclasses import dataclass

from ge_harness.errors import SwitchError, UnknownNameError
from ge_harness.switches.ge_options import TF2_NATIVE, Options

LEVELS = ("O0", "O1", "O3")
NUMERIC_OFF = "numeric-off"
PRESETS = {
    NUMERIC_OFF: "O3 without the passes that can change numbers (scheduling and memory "
    "passes stay); needs --opt-level=O3",
}

O0_OFF = ("SwitchDeadBranchElimination", "CondRemovePass", "SymbolicCondRemovePass",
          "SubexpressionMigrationPass", "UnusedArgsCleanPass")
"""Switched off by name at O0; the first three stand for ge.oo.deadCodeElimination,
which no TensorFlow adapter sends."""

NUMERIC_OFF_NAMES = (
    "CastRemovePass", "TransOpSymmetryEliminationPass",
    "TransOpWithoutReshapeFusionPass", "VariableOpPass", "ConstantFoldingPass",
    "ConstantClipPass", "AutoFusePass", "HostShapeOptimizationPass")

MUST_STAY: dict[str, str] = {
    "InferShapePass": "shapes and dtypes come from it",
    "InferValueRangePass": "value ranges of dynamic shapes come from it",
    "MergePass": "it lowers V1 control flow",
    "SwitchDataEdgesBypass": "it lowers V1 control flow",
    "MarkForceUnknownForCondPass": "it lowers V1 control flow",
    "MarkAgnosticPass": "the format step needs its marks",
    "FlowCtrlPass": "it builds the iteration loop of training",
    "IteratorOpPass": "it builds the iteration loop of training",
    "AtomicAddrCleanPass": "without it atomically accumulated sums are wrong",
    "CreateSubGraphWithScopePass": "it makes dynamic gears",
    "MultiBatchClonePass": "it makes dynamic gears",
    "MultiBatchPass": "it makes dynamic gears",
    "SubgraphMultiDimsClonePass": "it makes dynamic gears",
    "SubgraphMultiDimsPass": "it makes dynamic gears",
    "SubgraphConstMigrationPass": "it pairs with gear subgraphs",
    "ReshapeRemovePass": "it acts as a pair with ReshapeRecoveryPass",
    "ReshapeRecoveryPass": "it acts as a pair with ReshapeRemovePass",
    "SplitShapeNPass": "it is the partner of MergeUnknownShapeNPass",
    "UnusedConstPass": "it removes an operator that has no kernel",
}
"""Passes registered at O1 that a compile needs, and why."""

EXCEPTIONAL = (
    "LayerNormV4FusionPass", "WeightQuantBatchMatmulV2TransposeFusionPass",
    "SxpyFusionPass", "ARefreshCubeC0FusionPass", "DeleteNoConstFolding",
    "ZConcatExt2FusionPass", "MapIndexFusionPass")
"""Fusion passes that run at any level; only their own name in the switch stops one."""

EXPLICIT_GRAPH = (
    "LayerNormGradV3FusionPass", "GridSampler3DFusionPass",
    "FusedInferAttentionScoreQuantFusionPass", "IncreFlashAttentionQuantFusionPass",
    "PromptFlashAttentionQuantFusionPass")
EXPLICIT_UB = ("TbeMatmulFixPipeFusionPass",)
"""Passes that the installed configuration switches on by name, so that ALL:off misses
them; they are named in the switch file as well."""

REOPEN = (
    "CastlikeFusionPass", "BucketizeFusionPass", "HistogramFusionPass",
    "PermuteFusionPass", "GlobalavgpoolPass", "ReduceMeanWithCastFusionPass")
"""Lowering passes that ALL:off closes and a model may need; named in the notes."""


@dataclass(frozen=True)
class LevelRecipe:
    """What a level and preset become.

    Attributes:
        asked: the level and preset in words.
        level: what is sent, "O1" or "O3".
        options: further adapter options.
        off: names for optimization_switch.
        all_off: the switch file closes graph and UB fusion by ALL:off.
        clear_autofuse: AUTOFUSE_FLAGS is taken out of the environment unless the user
            gave it.
        notes: what stays on although the level reads otherwise.
    """

    asked: str
    level: str
    options: Options
    off: tuple[str, ...] = ()
    all_off: bool = False
    clear_autofuse: bool = True
    notes: tuple[str, ...] = ()


def level_recipe(level: str, preset: str, route: str) -> LevelRecipe:
    """Return what is sent for a level and preset on a route.

    Args:
        level: "O0", "O1", "O3", or "" for GE's default (O3).
        preset: a name of `PRESETS`, or "".
        route: one of `ge_options.ROUTES`.

    Raises:
        SwitchError: a level GE has not, or a preset at another level than its own.
        UnknownNameError: no such preset.
    """
    if preset and preset not in PRESETS:
        raise UnknownNameError("preset", preset, PRESETS)
    if level == "O2":
        raise SwitchError("GE has no level O2 (E10001: the value must be O1 or O3); "
                          "known here: O0 (synthesized), O1, O3")
    if level and level not in LEVELS:
        raise UnknownNameError("optimization level", level, LEVELS)
    if preset == NUMERIC_OFF:
        if level not in ("", "O3"):
            raise SwitchError(f"--preset={preset} is O3 without its numeric passes; it "
                              f"cannot go with --opt-level={level}")
        return LevelRecipe("O3 numeric-off", "O3", {}, NUMERIC_OFF_NAMES, True,
                           notes=_all_off_notes("O3"))
    if level == "O0":
        return _level_o0(route)
    if level == "O1":
        return LevelRecipe("O1", "O1", _sorting(route), notes=(
            _forbidden_note("O1"), *_sorting_note(route)))
    return LevelRecipe(level or "O3 (default)", "O3", {})


def _level_o0(route: str) -> LevelRecipe:
    options: Options = {"oo_constant_folding": False, **_sorting(route)}
    kept = ", ".join(sorted(MUST_STAY))
    notes = [
        "GE has no O0 (it answers E10001); sent is the nearest it accepts: O1 with "
        "constant folding, dead-branch removal and fusion off",
        f"kept because a compile needs them: {kept}",
        *_all_off_notes("O1"), *_sorting_note(route)]
    return LevelRecipe("O0", "O1", options, O0_OFF, True, notes=tuple(notes))


def _all_off_notes(level: str) -> tuple[str, ...]:
    return (
        _forbidden_note(level),
        f"{', '.join(EXCEPTIONAL)} run at any level and beat ALL:off; "
        "--disable-pass=NAME stops one",
        "ALL:off closes passes too that give an operator its kernel; where a compile "
        f"fails, reopen by name, e.g. --enable-pass={REOPEN[0]} (also "
        f"{', '.join(REOPEN[1:])})")


def _forbidden_note(level: str) -> str:
    return ("the adapter sends forbidden_close_pass:on, so about 90 fusion passes that "
            f"must not be closed run at {level} too; --disable-pass=NAME stops one")


def _sorting(route: str) -> Options:
    """The adapter sends the mode empty, which hides O1's own default of 3."""
    return {} if route == TF2_NATIVE else {"topo_sorting_mode": 3}


def _sorting_note(route: str) -> tuple[str, ...]:
    if route != TF2_NATIVE:
        return ()
    return ("oo_constant_folding travels as 0 or 1 on the native npu_device route; "
            "that GE takes it so has not been seen on a device",
            "topo_sorting_mode=3, O1's own default elsewhere, cannot be sent on the "
            "native npu_device route (it takes 0 and 1)",)
