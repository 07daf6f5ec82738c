"""Every construct that is maintained by change, on real Spark and Delta: equal to its query, and never recomputed."""

from __future__ import annotations

from integration_tests.maintained import Maintained
from integration_tests.test_generated import create_sources, run, wrong_after_rounds
from tests.generated.shapes import OF_SPARK, SHAPES
from tests.generated.tables import Script

REFRESHES = 1


def test_every_construct_is_maintained_incrementally(maintained: Maintained) -> None:
    """One batch of changes for all of them."""
    script = Script.random(7, REFRESHES)
    create_sources(maintained)
    run(maintained, script.rounds[0])
    wrong = wrong_after_rounds(maintained, SHAPES | OF_SPARK, script)
    assert not wrong, "\n\n".join(wrong)
