"""dbt's tests of macros that mean the same on every database."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.utils import test_get_intervals_between as intervals
from dbt.tests.adapter.utils import test_timestamps
from dbt.tests.adapter.utils.data_types import test_type_float, test_type_int, test_type_numeric

from integration_tests.conformance.suite import as_they_are

pytestmark = pytest.mark.thorough
"""They are dbt-spark's macros."""

globals().update(
    as_they_are(
        __name__,
        "utils.data_types.test_type_bigint:BaseTypeBigInt",
        "utils.data_types.test_type_boolean:BaseTypeBoolean",
        "utils.data_types.test_type_string:BaseTypeString",
        "utils.data_types.test_type_timestamp:BaseTypeTimestamp",
        "utils.test_any_value:BaseAnyValue",
        "utils.test_array_append:BaseArrayAppend",
        "utils.test_array_concat:BaseArrayConcat",
        "utils.test_array_construct:BaseArrayConstruct",
        "utils.test_bool_or:BaseBoolOr",
        "utils.test_cast:BaseCast",
        "utils.test_cast_bool_to_text:BaseCastBoolToText",
        "utils.test_concat:BaseConcat",
        "utils.test_current_timestamp:BaseCurrentTimestampNaive",
        "utils.test_date:BaseDate",
        "utils.test_date_spine:BaseDateSpine",
        "utils.test_date_trunc:BaseDateTrunc",
        "utils.test_dateadd:BaseDateAdd",
        "utils.test_datediff:BaseDateDiff",
        "utils.test_equals:BaseEquals",
        "utils.test_escape_single_quotes:BaseEscapeSingleQuotesBackslash",
        "utils.test_except:BaseExcept",
        "utils.test_generate_series:BaseGenerateSeries",
        "utils.test_get_powers_of_two:BaseGetPowersOfTwo",
        "utils.test_hash:BaseHash",
        "utils.test_intersect:BaseIntersect",
        "utils.test_last_day:BaseLastDay",
        "utils.test_length:BaseLength",
        "utils.test_listagg:BaseListagg",
        "utils.test_null_compare:BaseMixedNullCompare",
        "utils.test_null_compare:BaseNullCompare",
        "utils.test_position:BasePosition",
        "utils.test_replace:BaseReplace",
        "utils.test_right:BaseRight",
        "utils.test_safe_cast:BaseSafeCast",
        "utils.test_source_freshness_custom_info:BaseCalculateFreshnessMethod",
        "utils.test_split_part:BaseSplitPart",
        "utils.test_string_literal:BaseStringLiteral",
        "utils.test_validate_sql:BaseValidateSqlMethod",
    )
)


class TypesOfSeeds:
    """A seed's numbers are taken for BIGINT and DOUBLE unless it says otherwise."""

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {"seeds": {"+column_types": {"int_col": "int", "float_col": "float"}}}


class TestTypeInt(TypesOfSeeds, test_type_int.BaseTypeInt):
    pass


class TestTypeFloat(TypesOfSeeds, test_type_float.BaseTypeFloat):
    pass


class TestGetIntervalsBetween(intervals.BaseGetIntervalsBetween):
    """With dates that Spark reads, too."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        sql = intervals.fixture_get_intervals_between.models__test_get_intervals_between_sql
        iso = sql.replace("09/01/2023", "2023-09-01").replace("09/12/2023", "2023-09-12")
        yml = intervals.fixture_get_intervals_between.models__test_get_intervals_between_yml
        return {"test_get_intervals_between.sql": iso, "test_get_intervals_between.yml": yml}


class TestTypeNumeric(test_type_numeric.BaseTypeNumeric):
    def numeric_fixture_type(self) -> str:
        return "decimal(28,6)"


class TestCurrentTimestamps(test_timestamps.BaseCurrentTimestamps):
    @pytest.fixture(scope="class")
    def expected_schema(self) -> dict[str, str]:
        names = ("current_timestamp", "current_timestamp_in_utc_backcompat", "current_timestamp_backcompat")
        return dict.fromkeys(names, "timestamp")

    @pytest.fixture(scope="class")
    def expected_sql(self) -> None:
        return None
