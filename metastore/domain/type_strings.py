"""Type strings such as `array<struct<a:int,b:decimal(5,2)>>`: validation and compatible changes."""

from __future__ import annotations

import re

from metastore import caches
from metastore.errors import InvalidObjectError

MAX_DEPTH = 100

# Hive's type of columns that are known only to the serde.
_FROM_DESERIALIZER = "<derived from deserializer>"
_STRINGS = frozenset({"string", "varchar", "char"})
_DATE_TIMES = frozenset({"date", "datetime", "timestamp", "timestamp with time zone"})
# Each may change to a later one (Hive's ColumnType.NumericCastOrder).
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "decimal", "float", "double")
_ALIASES = {
    "integer": "int",
    "dec": "decimal",
    "numeric": "decimal",
    "real": "float",
    "double precision": "double",
    "timestamplocaltz": "timestamp with local time zone",
}
_PRIMITIVES = (
    _STRINGS
    | _DATE_TIMES
    | frozenset(_NUMBERS)
    | frozenset({"void", "boolean", "binary", "interval_year_month", "interval_day_time"})
    # Types of Spark and Iceberg that not every Hive version has.
    | frozenset({"timestamp with local time zone", "timestamp_ntz", "timestamp_ltz", "variant"})
)
_PARAMETERS = {"decimal": 2, "varchar": 1, "char": 1, "timestamp": 1}
_MAX_DECIMAL = 38

_TOKEN = re.compile(r"[<>(),:]|`[^`]*(?:``[^`]*)*`|[^<>(),:`]+|`")
_NAME = re.compile(r"[a-z]\w*(?: [a-z]+)*", re.ASCII)


@caches.cached(4096)
def check_type(type_string: str) -> None:
    """Raises InvalidObjectError for a text that is not a type in Hive's grammar (TypeInfoUtils). Case does not matter.

    Names of struct fields may contain all characters except `< > , :`, and also those if they are in backticks.
    """
    if type_string.strip().lower() == _FROM_DESERIALIZER:
        return
    reader = _Reader(type_string)
    reader.type(depth=0)
    if reader.following:
        raise reader.error(f"unexpected '{reader.following}'")


def can_change(old: str, new: str) -> bool:
    """Returns whether metastore.disallow.incompatible.col.type.changes allows the change of a column's type.

    Hive's ColumnType.areColTypesCompatible allows: strings to strings and doubles; numbers to wider numbers; numbers,
    dates and times to strings; void to any primitive type. Complex types cannot change.
    """
    before, after = (_base(text) for text in (old, new))
    if _folded(old) == _folded(new):
        return True
    if before not in _PRIMITIVES or after not in _PRIMITIVES:
        return False
    if before in _NUMBERS and after in _NUMBERS:
        return _NUMBERS.index(before) <= _NUMBERS.index(after)
    if after in _STRINGS:
        return before in _STRINGS or before in _NUMBERS or before in _DATE_TIMES or before == "void"
    return before in ("void", after) or (before in _STRINGS and after == "double")


class _Reader:
    """A recursive-descent parser of one type string. `following` is the next token, "" at the end.

    Tokens are generated lazily: a list of all tokens would take many times the memory of a large text.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = (token for match in _TOKEN.finditer(text) if (token := match.group().strip()))
        self.following = next(self._tokens, "")

    def error(self, reason: str) -> InvalidObjectError:
        """Returns an error about the whole type string."""
        return InvalidObjectError(f"Invalid column type name: {_shortened(self._text)} ({reason})")

    def type(self, depth: int) -> None:
        """Parses one type, including nested types."""
        if depth > MAX_DEPTH:
            raise self.error(f"nested more than {MAX_DEPTH} levels deep")
        name = _folded(self._take())
        if name == "array":
            self._members(depth, least=1, most=1)
        elif name == "map":
            self._members(depth, least=2, most=2)
        elif name == "uniontype":
            self._members(depth, least=1)
        elif name == "struct":
            self._members(depth, least=0, named=True)
        else:
            self._primitive(name)

    def _members(self, depth: int, *, least: int, most: int | None = None, named: bool = False) -> None:
        self._expect("<")
        count = 0
        while self.following != ">":
            if count and self._take() != ",":
                raise self.error("expected ',' or '>'")
            if named:
                self._field_name()
            self.type(depth + 1)
            count += 1
        self._expect(">")
        if count < least or (most is not None and count > most):
            raise self.error(f"{count} types between < and >")

    def _field_name(self) -> None:
        if self.following in ("", "<", ">", ",", ":"):
            raise self.error("a struct's field has no name")
        while self.following not in ("", "<", ">", ",", ":"):
            self._take()
        self._expect(":")

    def _primitive(self, name: str) -> None:
        name = _ALIASES.get(name, name)
        if name not in _PRIMITIVES:
            raise self.error(f"unknown type '{name}'" if _NAME.fullmatch(name) else "a type is missing")
        if self.following != "(":
            return
        parameters = self._numbers()
        if len(parameters) > _PARAMETERS.get(name, 0):
            raise self.error(f"too many parameters for {name}")
        if name in ("varchar", "char") and parameters[0] < 1:
            raise self.error(f"the length of a {name} must be at least 1")
        if name == "decimal":
            self._check_decimal(*parameters)

    def _check_decimal(self, precision: int, scale: int = 0) -> None:
        if not 1 <= precision <= _MAX_DECIMAL:
            raise self.error(f"the precision of a decimal must be between 1 and {_MAX_DECIMAL}")
        if scale > precision:
            raise self.error("the scale of a decimal must not exceed its precision")

    def _numbers(self) -> list[int]:
        self._expect("(")
        numbers = [self._number()]
        while self.following == ",":
            self._take()
            numbers.append(self._number())
        self._expect(")")
        return numbers

    def _number(self) -> int:
        token = self._take()
        if not re.fullmatch("[0-9]{1,9}", token):
            raise self.error(f"expected a number, not '{token}'")
        return int(token)

    def _take(self) -> str:
        token, self.following = self.following, next(self._tokens, "")
        return token

    def _expect(self, text: str) -> None:
        if self._take() != text:
            raise self.error(f"expected '{text}'")


def _base(type_string: str) -> str:
    name = _folded(re.split("[(<]", type_string, maxsplit=1)[0])
    return _ALIASES.get(name, name)


def _folded(text: str) -> str:
    return " ".join(text.lower().split())


def _shortened(text: str) -> str:
    return text if len(text) <= 200 else text[:200] + "…"
