"""What `emit` may say, and what is answered where it may not: the model, the reason, and what to write instead."""

from __future__ import annotations

from typing import Any

import pytest

from dbt.adapters.spark_dynamic.emit import emission_of
from dbt.adapters.spark_dynamic.temporal import late_by
from dbt_spark_dynamic.algebra.emission import PROCESSING_TIME, Emission
from dbt_spark_dynamic.errors import ConfigError

SECOND = 1_000_000
MINUTE = 60 * SECOND


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({}, Emission()),
        (
            {"first_result_offset": "-15 minutes", "complete_result_offset": "2 minutes", "update_rate": "5 minutes"},
            Emission(-15 * MINUTE, 2 * MINUTE, every=5 * MINUTE),
        ),
        ({"first_result_offset": "-90 minutes", "update_rate": 100}, Emission(-90 * MINUTE, 0, rows=100)),
        ({"first_result_offset": "-10 seconds", "update_rate": "1 row"}, Emission(-10 * SECOND, 0, rows=1)),
        ({"late_updates": True}, Emission(late=True)),
        ({"late_updates": False, "complete_result_offset": "1 week"}, Emission(0, 10080 * MINUTE)),
        (
            {"complete_result_offset": "+2 minutes", "late_updates": "true", "last_result_offset": "1 day"},
            Emission(0, 2 * MINUTE, late=True, last=1440 * MINUTE),
        ),
        ({"clock": "processing_time", "first_result_offset": 0}, Emission(clock=PROCESSING_TIME)),
    ],
)
def test_what_it_says(said: dict[str, Any], expected: Emission) -> None:
    assert emission_of({"emit": said}, "models/m.sql") == expected


@pytest.mark.parametrize(
    ("config", "what", "remedy"),
    [
        ({"emit": True}, "is no list of keys", "say emit: {}"),
        ({"emit": {"first_result": "1 minute"}}, "unknown key first_result", "did you mean first_result_offset?"),
        ({"emit": {"colour": "red"}}, "unknown key colour", "the keys are first_result_offset"),
        ({"emit": {"first_result_offset": "soon"}}, "'soon' is not an offset", "'-15 minutes'"),
        ({"emit": {"complete_result_offset": "1 month"}}, "'1 month' is not an offset", "of fixed length"),
        ({"emit": {"first_result_offset": "-1 hour 30 minutes"}}, "is not an offset", "a number and a unit"),
        ({"emit": {"first_result_offset": 5}}, "'5' is not an offset", "a number and a unit"),
        ({"emit": {"first_result_offset": "3 minutes"}}, "first result, at 3 minutes, would come after", "lesser"),
        ({"emit": {"first_result_offset": "-1 minute", "update_rate": "0 minutes"}}, "is not a rate", "'5 minutes'"),
        ({"emit": {"first_result_offset": "-1 minute", "update_rate": 0}}, "is not a rate", "'100 rows'"),
        ({"emit": {"first_result_offset": "-1 minute", "update_rate": "often"}}, "is not a rate", "'100 rows'"),
        ({"emit": {"update_rate": "5 minutes"}}, "update_rate has no effect", "first_result_offset to an earlier"),
        ({"emit": {"late_updates": "sometimes"}}, "neither true nor false", "true or false"),
        ({"emit": {"last_result_offset": "5 minutes"}}, "no effect without late_updates", "late_updates: true"),
        (
            {"emit": {"complete_result_offset": "2 minutes", "late_updates": True, "last_result_offset": "1 minute"}},
            "last result, at 1 minute, would come before", "greater",
        ),
        ({"emit": {"clock": "wall"}}, "emit.clock: 'wall' is not a value", "'watermark', 'processing_time'"),
        ({"emit": {"clock": "processing_time"}, "watermark": "1 minute"}, "watermark has no effect", "leave out one"),
        ({"emit": {}, "materialized": "versioned_table"}, "no effect on a versioned_table", "dynamic_table"),
        ({"emit": {}, "materialized": "temporal_join"}, "no effect on a temporal_join", "dynamic_table"),
        ({"emit": {}, "late_versions": "ignore"}, "emit and late_versions exclude", "in a model of its own"),
        (
            {"emit": {"late_updates": True}, "changelog_mode": "append"}, "'append' and emit.late_updates exclude",
            "leave out late_updates",
        ),
        (
            {"emit": {"first_result_offset": "-1 minute"}, "changelog_mode": "append"},
            "'append' and emit.first_result_offset exclude", "'retract'",
        ),
        ({"emit": {}, "refresh_mode": "full"}, "refresh_mode='full' and emit exclude", "leave out refresh_mode"),
    ],
)  # fmt: skip
def test_what_it_may_not_say(config: dict[str, Any], what: str, remedy: str) -> None:
    with pytest.raises(ConfigError) as raised:
        emission_of(config, "models/m.sql")
    assert what in raised.value.what and remedy in raised.value.remedy and raised.value.where == "models/m.sql"


def test_it_is_what_a_watermark_is_for() -> None:
    assert emission_of({}, "") is None
    assert late_by({}, "SELECT 1", Emission(), "") == "'0' SECOND"
    assert late_by({"watermark": "2 minutes"}, "SELECT 1", Emission(), "") == "'2' MINUTE"
    assert late_by({}, "SELECT 1", Emission(clock=PROCESSING_TIME), "") is None
    with pytest.raises(ConfigError, match="watermark has no effect here"):
        late_by({"watermark": "2 minutes"}, "SELECT 1", None, "")
