"""Hive's functions that occur in filters on partitions.

Arguments are callables, so that conditional functions evaluate only the arguments that they need. A function raises
IndeterminateError if Hive's result is not known for certain.
"""

from __future__ import annotations

import datetime
import operator
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from metastore.domain.kryo.values import (
    HiveType,
    IndeterminateError,
    Instant,
    common,
    converted,
    is_number,
    is_text,
)


class TypedValue(NamedTuple):
    """A value and its type; None is NULL."""

    kind: HiveType
    value: Any


Argument = Callable[[], TypedValue]
Function = Callable[[HiveType, Sequence[Argument]], Any]

_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "OPEqual": operator.eq,
    "OPNotEqual": operator.ne,
    "OPLessThan": operator.lt,
    "OPEqualOrLessThan": operator.le,
    "OPGreaterThan": operator.gt,
    "OPEqualOrGreaterThan": operator.ge,
}
_DATE = HiveType("date")
_WIDEST = 2**63
# Limits of the running time: characters in arguments, and steps of matching a pattern.
_MAX_CHARACTERS = 10_000
_MAX_STEPS = 10_000


def compared(name: str, left: TypedValue, right: TypedValue) -> bool | None:
    """Compares two values as their common type. Returns None if one is NULL. `name` is a key of _COMPARED."""
    if left.value is None or right.value is None:
        return None
    return _COMPARED[name](*_alike(left, right))


def _alike(left: TypedValue, right: TypedValue) -> tuple[Any, Any]:
    if left.kind.name == right.kind.name:
        return left.value, right.value
    both = common(left.kind, right.kind)
    if both.name in ("decimal", "bigint"):
        return Decimal(left.value), Decimal(right.value)
    values = converted(left.kind, both, left.value), converted(right.kind, both, right.value)
    if None in values:
        raise IndeterminateError
    return values


def _comparison(name: str) -> Function:
    def compare(_: HiveType, arguments: Sequence[Argument]) -> bool | None:
        left, right = (argument() for argument in _exactly(2, arguments))
        if left.value is not None and right.value is not None and left.kind.name != right.kind.name:
            both = common(left.kind, right.kind)
            # A text that is not a value of the other type becomes NULL.
            if both.name not in ("decimal", "bigint", "string"):
                left = TypedValue(both, converted(left.kind, both, left.value))
                right = TypedValue(both, converted(right.kind, both, right.value))
        return compared(name, left, right)

    return compare


def _in(_: HiveType, arguments: Sequence[Argument]) -> bool | None:
    value, *candidates = (argument() for argument in arguments)
    if value.value is None:
        return None
    known = [candidate for candidate in candidates if candidate.value is not None]
    if len({is_text(typed.kind) for typed in (value, *known)}) > 1:
        value, *known = (_as_day(typed) for typed in (value, *known))
    if any(compared("OPEqual", value, typed) for typed in known):
        return True
    return False if len(known) == len(candidates) else None


def _as_day(typed: TypedValue) -> TypedValue:
    """Converts an operand of IN with dates and texts to a date. Hive's versions differ for other mixtures of types."""
    day, value = _day(typed), typed.value
    if (not is_text(typed.kind) and typed.kind.name != "date") or day is None or value not in (day, day.isoformat()):
        raise IndeterminateError
    return TypedValue(_DATE, day)


def _between(_: HiveType, arguments: Sequence[Argument]) -> bool | None:
    inverted, value, lower, upper = (argument() for argument in _exactly(4, arguments))
    result = _both(compared("OPEqualOrGreaterThan", value, lower), compared("OPEqualOrLessThan", value, upper))
    return _negated(result) if inverted.value else result


def _both(left: bool | None, right: bool | None) -> bool | None:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _negated(value: bool | None) -> bool | None:
    return None if value is None else not value


def _and(_: HiveType, arguments: Sequence[Argument]) -> bool | None:
    result: bool | None = True
    for argument in arguments:
        result = _both(result, _truth(argument()))
    return result


def _or(_: HiveType, arguments: Sequence[Argument]) -> bool | None:
    result: bool | None = False
    for argument in arguments:
        result = _negated(_both(_negated(result), _negated(_truth(argument()))))
    return result


def _truth(typed: TypedValue) -> bool | None:
    if typed.value is None or isinstance(typed.value, bool):
        return typed.value
    raise IndeterminateError


def _cast(target: HiveType, arguments: Sequence[Argument]) -> Any:
    argument = _exactly(1, arguments)[0]()
    return converted(argument.kind, target, argument.value)


def _coalesce(target: HiveType, arguments: Sequence[Argument]) -> Any:
    for argument in arguments:
        typed = argument()
        if typed.value is not None:
            return _of(target, typed)
    return None


def _of(target: HiveType, typed: TypedValue) -> Any:
    """Returns the value of a branch. Its type must equal the function's type, except for the size."""
    if typed.value is not None and typed.kind.name != target.name and not (is_text(typed.kind) and is_text(target)):
        raise IndeterminateError
    return typed.value


def _if(target: HiveType, arguments: Sequence[Argument]) -> Any:
    condition, then, otherwise = _exactly(3, arguments)
    return _of(target, then() if _truth(condition()) else otherwise())


def _when(target: HiveType, arguments: Sequence[Argument]) -> Any:
    for condition, value in zip(arguments[::2], arguments[1::2], strict=False):
        if _truth(condition()):
            return _of(target, value())
    return _of(target, arguments[-1]()) if len(arguments) % 2 else None


def _case(target: HiveType, arguments: Sequence[Argument]) -> Any:
    if not arguments:
        raise IndeterminateError
    value, rest = arguments[0](), arguments[1:]
    for candidate, then in zip(rest[::2], rest[1::2], strict=False):
        if compared("OPEqual", value, candidate()):
            return _of(target, then())
    return _of(target, rest[-1]()) if len(rest) % 2 else None


def _of_text(change: Callable[..., Any], minimum: int = 1, maximum: int = 1) -> Function:
    """Returns a function of one text and further texts or whole numbers, with a number of arguments in the range."""

    def apply(_: HiveType, arguments: Sequence[Argument]) -> Any:
        inputs = [argument() for argument in arguments]
        if not minimum <= len(inputs) <= maximum or not all(
            is_text(typed.kind) or isinstance(typed.value, int) for typed in inputs if typed.value is not None
        ):
            raise IndeterminateError
        values = [typed.value for typed in inputs]
        if not isinstance(values[0], str | None):
            raise IndeterminateError
        if sum(len(value) for value in values if isinstance(value, str)) > _MAX_CHARACTERS:
            raise IndeterminateError
        return None if None in values else change(*values)

    return apply


def _letters(change: Callable[[str], str]) -> Callable[[str], str]:
    """Returns a function that applies `change` to each character.

    It raises IndeterminateError where Java and Python may differ: for Σ, and if one character becomes several.
    """

    def apply(text: str) -> str:
        changed = "".join(map(change, text))
        if len(changed) != len(text) or "Σ" in text:
            raise IndeterminateError
        return changed

    return apply


def _substring(text: str, start: int, length: int | None = None) -> str:
    """Returns a substring as Java does: positions count from 1, or from the end if negative, in UTF-16 units."""
    units = text.encode("utf-16-be")
    size = len(units) // 2
    first = start - 1 if start > 0 else size + start if start < 0 else 0
    if first < 0 or first >= size or (length is not None and length <= 0):
        return ""
    end = size if length is None else min(first + length, size)
    try:
        return units[2 * first : 2 * end].decode("utf-16-be")
    except UnicodeDecodeError:
        raise IndeterminateError from None


def _like(text: str, pattern: str) -> bool:
    """Matches SQL LIKE with a greedy algorithm: after a mismatch, it continues after the last %."""
    if "\\" in pattern or len(text) * len(pattern) > _MAX_STEPS:
        raise IndeterminateError
    in_text = in_pattern = 0
    last_wildcard, resumed = -1, 0
    while in_text < len(text):
        if in_pattern < len(pattern) and pattern[in_pattern] == "%":
            last_wildcard, resumed = in_pattern, in_text
            in_pattern += 1
        elif in_pattern < len(pattern) and pattern[in_pattern] in ("_", text[in_text]):
            in_text, in_pattern = in_text + 1, in_pattern + 1
        elif last_wildcard >= 0:
            resumed += 1
            in_text, in_pattern = resumed, last_wildcard + 1
        else:
            return False
    return not pattern[in_pattern:].strip("%")


def _concat(*texts: Any) -> str:
    return "".join(map(str, texts))


def _arithmetic(compute: Callable[[int, int], int]) -> Function:
    """Returns a function of two whole numbers. The result is converted to its type, as Java's arithmetic does."""

    def apply(target: HiveType, arguments: Sequence[Argument]) -> Any:
        left, right = (argument() for argument in _exactly(2, arguments))
        if not all(is_number(typed.kind) and isinstance(typed.value, int | None) for typed in (left, right)):
            raise IndeterminateError
        if left.value is None or right.value is None:
            return None
        result = compute(left.value, right.value)
        if abs(result) >= _WIDEST:
            raise IndeterminateError
        return converted(HiveType("bigint"), target, result)

    return apply


def _remainder(left: int, right: int) -> int:
    """Returns the remainder with the sign of `left`, as in Java."""
    if right == 0:
        raise IndeterminateError
    return abs(left) % abs(right) * (-1 if left < 0 else 1)


def _of_one_number(compute: Callable[[int], int]) -> Function:
    return lambda target, arguments: _arithmetic(lambda value, _: compute(value))(target, [*arguments, *arguments])


def _day(typed: TypedValue) -> datetime.date | None:
    day = converted(typed.kind, HiveType("date"), typed.value)
    if day is None or isinstance(day, datetime.date):
        return day
    raise IndeterminateError


def _part(name: str) -> Function:
    def apply(_: HiveType, arguments: Sequence[Argument]) -> int | None:
        day = _day(_exactly(1, arguments)[0]())
        return None if day is None else int(getattr(day, name))

    return apply


def _time_part(name: str) -> Function:
    def apply(_: HiveType, arguments: Sequence[Argument]) -> int | None:
        time = _exactly(1, arguments)[0]()
        if time.kind.name != "timestamp":
            raise IndeterminateError
        return int(getattr(time.value, name)) if isinstance(time.value, Instant) else None

    return apply


def _date(target: HiveType, arguments: Sequence[Argument]) -> Any:
    """Hive's to_date. Old versions return a text, new ones a date."""
    day = _day(_exactly(1, arguments)[0]())
    return day if day is None or target.name == "date" else day.isoformat()


def _shifted(sign: int) -> Function:
    def apply(target: HiveType, arguments: Sequence[Argument]) -> Any:
        start, days = (argument() for argument in _exactly(2, arguments))
        day = _day(start)
        if day is None or days.value is None:
            return None
        if not isinstance(days.value, int) or abs(days.value) > 100_000:
            raise IndeterminateError
        try:
            moved = day + datetime.timedelta(sign * days.value)
        except OverflowError:
            raise IndeterminateError from None
        return moved if target.name == "date" else moved.isoformat()

    return apply


def _exactly(count: int, arguments: Sequence[Argument]) -> Sequence[Argument]:
    """Returns the arguments. Raises IndeterminateError if their number is not `count`."""
    if len(arguments) != count:
        raise IndeterminateError
    return arguments


def _is_null(_: HiveType, arguments: Sequence[Argument]) -> bool:
    return _exactly(1, arguments)[0]().value is None


def _null_safe(_: HiveType, arguments: Sequence[Argument]) -> bool:
    left, right = (argument() for argument in _exactly(2, arguments))
    if left.value is None or right.value is None:
        return left.value is right.value
    return bool(compared("OPEqual", left, right))


# Keys are Hive's class names without the prefix GenericUDF.
FUNCTIONS: dict[str, Function] = {
    **{name: _comparison(name) for name in _COMPARED},
    "OPEqualNS": _null_safe,
    "OPNotEqualNS": lambda target, arguments: not _null_safe(target, arguments),
    "OPAnd": _and,
    "OPOr": _or,
    "OPNot": lambda _, arguments: _negated(_truth(_exactly(1, arguments)[0]())),
    "OPNull": _is_null,
    "OPNotNull": lambda target, arguments: not _is_null(target, arguments),
    "OPTrue": lambda _, arguments: _truth(_exactly(1, arguments)[0]()) is True,
    "OPFalse": lambda _, arguments: _truth(_exactly(1, arguments)[0]()) is False,
    "OPNotTrue": lambda _, arguments: _truth(_exactly(1, arguments)[0]()) is not True,
    "OPNotFalse": lambda _, arguments: _truth(_exactly(1, arguments)[0]()) is not False,
    "In": _in,
    "Between": _between,
    **dict.fromkeys(("ToDecimal", "ToVarchar", "ToString", "ToDate", "Timestamp", "ToChar"), _cast),
    "Coalesce": _coalesce,
    "Nvl": _coalesce,
    "If": _if,
    "When": _when,
    "Case": _case,
    "Upper": _of_text(_letters(str.upper)),
    "Lower": _of_text(_letters(str.lower)),
    "Trim": _of_text(lambda text: text.strip(" ")),
    "Length": _of_text(len),
    "CharacterLength": _of_text(len),
    "Concat": _of_text(_concat, 1, 50),
    "Date": _date,
    "DateAdd": _shifted(1),
    "DateSub": _shifted(-1),
    "OPNumericPlus": _arithmetic(operator.add),
    "OPNumericMinus": _arithmetic(operator.sub),
    "OPPlus": _arithmetic(operator.add),
    "OPMinus": _arithmetic(operator.sub),
    "OPMultiply": _arithmetic(operator.mul),
    "OPMod": _arithmetic(_remainder),
    "OPNegative": _of_one_number(operator.neg),
    "OPPositive": _of_one_number(operator.pos),
    "Abs": _of_one_number(abs),
}
# Functions that Hive calls through GenericUDFBridge. Keys are class names without org.apache.hadoop.hive.ql.udf.UDF.
BRIDGED: dict[str, Function] = {
    **dict.fromkeys(("ToByte", "ToShort", "ToInteger", "ToLong", "ToDouble", "ToFloat", "ToString"), _cast),
    "Like": _of_text(_like, 2, 2),
    "Substr": _of_text(_substring, 2, 3),
    "Year": _part("year"),
    "Month": _part("month"),
    "DayOfMonth": _part("day"),
    "Hour": _time_part("hour"),
    "Minute": _time_part("minute"),
    "Second": _time_part("second"),
}
