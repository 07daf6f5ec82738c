"""A derived key is a key of the result in every state of the sources, NULLs counted as equal."""

from __future__ import annotations

from collections import Counter

from hypothesis import given

from dbt_spark_dynamic.algebra.keys import unique_key
from dbt_spark_dynamic.algebra.nodes import Node

from .carrying_out import meaning
from .plans import plans
from .states import KEYS, Script, scripts


@given(plans(), scripts(refreshes=1))
def test_no_two_rows_agree_on_the_unique_key(model: Node, script: Script) -> None:
    key = unique_key(model, KEYS)
    if key is None:
        return
    places = [model.columns.index(k) for k in key]
    for state in script.states:
        seen = Counter(tuple(row[p] for p in places) for row in meaning(model, state).elements())
        assert all(n == 1 for n in seen.values())
