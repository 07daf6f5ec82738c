"""The contract of a change plan, checked at its door: a broken promise is our bug and is reported as one."""

from __future__ import annotations

from ..algebra.nodes import Named, Scan, Time, walk
from ..errors import Bug
from ..names import WEIGHT
from .change_plan import ChangePlan, Shape
from .partials import HELD


def check(plan: ChangePlan) -> ChangePlan:
    """The plan itself. Raises Bug if a scan has no time, a name is read before it is computed, or a weight lacks."""
    known = {f.name for f in plan.feeds} | ({HELD} if plan.partials is not None else set())
    for binding in (*plan.bindings, plan.result):
        for node in walk(binding.node):
            if isinstance(node, Scan) and node.time is Time.UNDATED:
                raise Bug(f"{binding.name} reads {node.source} without saying at which time.")
            if isinstance(node, Named) and node.name not in known:
                raise Bug(f"{binding.name} reads {node.name} before it is computed.")
        known.add(binding.name)
    weights = plan.result.node.columns.count(WEIGHT)
    if weights != (1 if plan.shape is Shape.SIGNED else 0):
        raise Bug(f"the result of a {plan.shape.value} plan has {weights} weight columns.")
    return plan
