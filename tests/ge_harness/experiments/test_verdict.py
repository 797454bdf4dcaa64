from __future__ import annotations

import pytest

from ge_harness.experiments.verdict import all_of, settle
from ge_harness.records.experiment import ExperimentVerdict, MechanismEvidence

SHOWN = MechanismEvidence("a", "b", "c", True)
NOT = MechanismEvidence("the instruction", "there are no dumps", "", False)
HOLDS, REFUTED = ExperimentVerdict.HOLDS, ExperimentVerdict.REFUTED
OPEN = ExperimentVerdict.INCONCLUSIVE


@pytest.mark.parametrize(("held", "evidence", "verdict"), [
    (True, [SHOWN], HOLDS), (False, [SHOWN], REFUTED), (True, [SHOWN, NOT], OPEN),
    (False, [NOT], OPEN), (True, [], OPEN)])
def test_an_outcome_counts_only_with_all_its_evidence(held, evidence, verdict):
    assert settle(held, "so", evidence)[0] is verdict


def test_a_missing_proof_is_named():
    why = settle(True, "so", [SHOWN, NOT])[1]
    assert "the instruction" in why
    assert "there are no dumps" in why


@pytest.mark.parametrize(("parts", "verdict"), [
    ([HOLDS, HOLDS], HOLDS), ([HOLDS, REFUTED, OPEN], REFUTED), ([HOLDS, OPEN], OPEN),
    ([], ExperimentVerdict.NOT_APPLICABLE)])
def test_one_refuted_part_refutes_and_one_open_part_leaves_open(parts, verdict):
    rulings = [(part, "why") for part in parts]
    assert all_of(rulings, [str(i) for i in range(len(parts))])[0] is verdict
