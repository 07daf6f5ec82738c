"""Every node has an entry in every table of rules: a new node cannot be forgotten anywhere."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dbt_spark_dynamic.algebra import evaluate, keys, nodes, prune, show, transform
from dbt_spark_dynamic.changes import differentiate, laws, restrict

RULES = {
    "evaluate": evaluate.evaluate,
    "show": show.line,
    "unique_key": keys.unique_key,
    "prune": prune.narrow,
    "with_children": transform._with_children,
    "change": differentiate.change,
    "law": laws.law_of,
    "restrict": restrict.push,
}

NODES = [n for n in vars(nodes).values() if isinstance(n, type) and issubclass(n, nodes.Node) and n is not nodes.Node]

OF_CHANGE_PLANS = "only change plans have it; a model has none"
WITHOUT_LAW = {
    ("change", "Named"): OF_CHANGE_PLANS,
    ("law", "Named"): OF_CHANGE_PLANS,
    ("law", "Semi"): OF_CHANGE_PLANS,
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("node", NODES, ids=lambda n: n.__name__)
def test_every_node_has_an_entry(rule: str, node: type[nodes.Node]) -> None:
    if (rule, node.__name__) in WITHOUT_LAW:
        pytest.skip(WITHOUT_LAW[rule, node.__name__])
    function: Callable = RULES[rule]
    assert function.dispatch(node) is not function.dispatch(object)
