"""What follows for an expression from some of its columns being NULL, whatever the others are."""

from __future__ import annotations

from collections.abc import Set

from sqlglot import exp

from .expressions import Expr

NULL, TRUE, FALSE = exp.Null(), exp.true(), exp.false()

OF_BOTH = (
    exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.DPipe,
    exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Like, exp.ILike, exp.RegexpLike,
)  # fmt: skip
"""Operators that are NULL where either side is."""

OF_THE_FIRST = (
    exp.Neg, exp.Cast, exp.TryCast, exp.Between, exp.In, exp.Escape, exp.Lower, exp.Upper, exp.Length, exp.Abs,
    exp.Round, exp.Floor, exp.Ceil, exp.Year, exp.Month, exp.Day, exp.TsOrDsToDate, exp.DateTrunc, exp.TimestampTrunc,
)  # fmt: skip
"""What is NULL where its operand is, the first argument."""


def is_null(e: Expr, absent: Set[str]) -> bool:
    """Whether an expression is NULL where these columns are."""
    return bool(e.columns & absent) and _constant(e.tree, absent) == NULL


def is_never_true(predicate: Expr, absent: Set[str]) -> bool:
    """Whether a condition is false or unknown where these columns are NULL."""
    return bool(predicate.columns & absent) and _never_true(predicate.tree, absent)


def is_zero(e: Expr, absent: Set[str]) -> bool:
    """Whether an expression is 0 where these columns are NULL, and NULL never."""
    if not e.columns & absent or not _never_null(e.tree):
        return False
    found = _constant(e.tree, absent)
    return isinstance(found, exp.Literal) and found.is_number and float(found.this) == 0


def _constant(tree: exp.Expression, absent: Set[str]) -> exp.Expression | None:
    """The literal or NULL that it is; None if that depends on more."""
    match tree:
        case exp.Column():
            return NULL if tree.name in absent else None
        case exp.Null() | exp.Literal() | exp.Boolean():
            return tree
        case exp.Paren():
            return _constant(tree.this, absent)
        case exp.Coalesce():
            return _first((tree.this, *tree.expressions), absent)
        case exp.Case():
            return _chosen(tree.args["ifs"], tree.args.get("default"), tree.this, absent)
        case exp.If():
            return _chosen([tree], tree.args.get("false"), None, absent)
    return _condition(tree, absent) or (NULL if _is_strict(tree, absent) else None)


def _condition(tree: exp.Expression, absent: Set[str]) -> exp.Expression | None:
    """The same of what is true or false, or unknown."""
    if isinstance(tree, exp.Not):
        of = _constant(tree.this, absent)
        return _told(of == FALSE) if isinstance(of, exp.Boolean) else of if of == NULL else None
    if not isinstance(tree, exp.And | exp.Or | exp.Is | exp.NullSafeEQ):
        return None
    sides = [_constant(side, absent) for side in (tree.this, tree.expression)]
    if isinstance(tree, exp.And | exp.Or):
        return _connected(tree, sides)
    one, other = sides
    return None if None in sides or NULL not in sides else _told(one == other)


def _is_strict(tree: exp.Expression, absent: Set[str]) -> bool:
    """Whether it is NULL because an operand is."""
    if isinstance(tree, exp.In) and not tree.expressions:
        return False
    operands = (tree.this, tree.expression) if isinstance(tree, OF_BOTH) else (tree.this,)
    return isinstance(tree, OF_BOTH + OF_THE_FIRST) and NULL in [_constant(of, absent) for of in operands]


def _told(true: bool) -> exp.Expression:
    return TRUE if true else FALSE


def _connected(tree: exp.Connector, sides: list[exp.Expression | None]) -> exp.Expression | None:
    decisive, neutral = (TRUE, FALSE) if isinstance(tree, exp.Or) else (FALSE, TRUE)
    if decisive in sides:
        return decisive
    if None in sides:
        return None
    return NULL if NULL in sides else neutral


def _first(values: tuple[exp.Expression, ...], absent: Set[str]) -> exp.Expression | None:
    """The first that is not NULL."""
    for of in values:
        found = _constant(of, absent)
        if found is None or found != NULL:
            return found
    return NULL


def _chosen(
    ifs: list[exp.If], default: exp.Expression | None, of: exp.Expression | None, absent: Set[str]
) -> exp.Expression | None:
    """Of CASE, what is chosen where no condition is met, as far as none is; of: what is compared with the conditions,
    if anything."""
    for branch in ifs:
        if of is not None:
            if _constant(of, absent) != NULL:
                return None
        elif not _never_true(branch.this, absent):
            return _constant(branch.args["true"], absent) if _constant(branch.this, absent) == TRUE else None
    return NULL if default is None else _constant(default, absent)


def _never_true(tree: exp.Expression, absent: Set[str]) -> bool:
    if isinstance(tree, exp.Paren):
        return _never_true(tree.this, absent)
    if isinstance(tree, exp.And | exp.Or):
        sides = (_never_true(side, absent) for side in (tree.this, tree.expression))
        return any(sides) if isinstance(tree, exp.And) else all(sides)
    return _constant(tree, absent) in (NULL, FALSE)


def _never_null(tree: exp.Expression) -> bool:
    match tree:
        case exp.Literal() | exp.Boolean() | exp.Is() | exp.NullSafeEQ():
            return True
        case exp.Paren():
            return _never_null(tree.this)
        case exp.Coalesce():
            return any(map(_never_null, (tree.this, *tree.expressions)))
        case exp.Case():
            values = [branch.args["true"] for branch in tree.args["ifs"]]
            default = tree.args.get("default")
            return default is not None and all(map(_never_null, (*values, default)))
        case exp.If():
            other = tree.args.get("false")
            return other is not None and all(map(_never_null, (tree.args["true"], other)))
    return False
