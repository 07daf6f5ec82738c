"""Every construct that is maintained by change, on real Spark and Delta: equal to its query, and never recomputed.

Of the queries that DuckDB answers too, all of which tests/generated maintains through five refreshes, as many as have
what all of them have; SHAPES=all tries each of them.
"""

from __future__ import annotations

import os

from integration_tests.maintained import Maintained
from integration_tests.test_generated import create_sources, run, wrong_after_rounds
from tests.generated.covering import covering
from tests.generated.shapes import OF_SPARK, SHAPES
from tests.generated.tables import Script

REFRESHES = 1


def test_every_construct_is_maintained_incrementally(maintained: Maintained) -> None:
    """One batch of changes for all of them."""
    script = Script.random(7, REFRESHES)
    create_sources(maintained)
    run(maintained, script.rounds[0])
    of_duck = SHAPES if os.environ.get("SHAPES") == "all" else covering(SHAPES)
    wrong = wrong_after_rounds(maintained, of_duck | OF_SPARK, script)
    assert not wrong, "\n\n".join(wrong)
