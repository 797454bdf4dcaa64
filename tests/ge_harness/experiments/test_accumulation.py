from __future__ import annotations

import pytest

from ge_harness.experiments import accumulation
from ge_harness.records.experiment import ExperimentVerdict, MechanismEvidence
from tests.ge_harness.experiments.benches import bench

SEEN = (MechanismEvidence("the tilings are different kernels", "4", "dumps", True),)


@pytest.mark.parametrize(("sets", "differing", "verdict"), [
    (4, 0, ExperimentVerdict.INCONCLUSIVE), (0, 0, ExperimentVerdict.REFUTED),
    (4, 1, ExperimentVerdict.HOLDS)])
def test_equal_bits_of_few_sums_refute_nothing(tmp_path, sets, differing, verdict):
    place = bench(tmp_path, "emulator", sets=sets)
    found, why = accumulation._rule(place, {}, (differing, True), SEEN)
    assert found is verdict
    assert ("too few" in why) == (verdict is ExperimentVerdict.INCONCLUSIVE)
