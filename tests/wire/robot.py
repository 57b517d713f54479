"""Arguments for any method of the wire, made from nothing but its generated `thrift_spec`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from thrift.Thrift import TType

_BITS = {TType.BYTE: 7, TType.I16: 15, TType.I32: 31, TType.I64: 63}
_HOSTILE = (
    *("", " ", "\0", "'", '"', "`", "/", "\\", "%", "%00", "..", "a/b", "\n\t", "é" * 50, "日本", "\U0010ffff"),
    *("@", "@#", "@hive#", "@hive#!", "a=1", "a=1/b=", "=", "*", ".*|", "((", "[", "{}", "{", "::", "file:", "/"),
    *("TRUE", "-1", "null", "x" * 10_000, "NaN", "1e999", "9" * 40, "9999-99-99", "DROP TABLE", "and and", "ds = "),
)
_DEPTH = 4


@dataclass(frozen=True)
class World:
    """What is really there, so that calls get past the first look-up."""

    database: str
    table: str
    partition: Mapping[str, str]

    def texts(self, field: str) -> Sequence[str]:
        """What a client would send in a field of this name."""
        name = field.lower().replace("_", "")
        if "cat" in name:
            return ["hive"]
        if name.endswith(("db", "dbname", "database", "databasename")):
            return [self.database, self.database.upper(), f"@hive#{self.database}"]
        if "filter" in name:
            return ["n > 0 and ds = 'x'", "n = 'x'", "(ds) in ('x')", "nope = 1"]
        if "part" in name and "val" not in name:
            return ["/".join(f"{key}={value}" for key, value in self.partition.items())]
        if "val" in name:
            return list(self.partition.values())
        if "col" in name or "key" in name:
            return ["a", "x", *self.partition]
        if "type" in name:
            return ["int", "string", "MANAGED_TABLE", "decimal(10,2)"]
        return [self.table, self.table.upper()]


def empty(kind: int, details: Any) -> Any:
    """The emptiest value of a type that is not unset."""
    if kind == TType.STRUCT:
        return details[0]()
    if kind == TType.STRING:
        return b"" if details == "BINARY" else ""
    return {TType.BOOL: False, TType.DOUBLE: 0.0, TType.LIST: [], TType.SET: set(), TType.MAP: {}}.get(kind, 0)


@dataclass(frozen=True)
class Noise:
    """Values of any type: such as a client sends, and such as none should."""

    random: Random
    world: World

    def maybe(self, spec: tuple[Any, ...], depth: int = 0) -> Any:
        """A value for the field, or None; deep inside only None."""
        _, kind, name, details, _ = spec
        return None if depth > _DEPTH or self.random.random() < 0.2 else self.value(kind, details, name, depth)

    def value(self, kind: int, details: Any, field: str, depth: int) -> Any:
        random = self.random
        if kind == TType.STRUCT:
            specs = [spec for spec in details[0].thrift_spec if spec is not None]
            return details[0](**{spec[2]: self.maybe(spec, depth + 1) for spec in specs})
        if kind == TType.STRING:
            return random.randbytes(random.randrange(9)) if details == "BINARY" else self._text(field)
        if kind in (TType.LIST, TType.SET):
            items = [self.value(details[0], details[1], field, depth + 1) for _ in range(random.randrange(4))]
            return items if kind == TType.LIST else set(items)
        if kind == TType.MAP:
            return dict(self._pair(details, field, depth + 1) for _ in range(random.randrange(3)))
        if kind == TType.BOOL:
            return random.random() < 0.5
        if kind == TType.DOUBLE:
            return random.choice([0.0, -1.5, 1e308, float("inf"), float("nan")])
        limit = 2 ** _BITS[kind]
        return random.choice([0, 1, 1, 2, 3, -1, limit - 1, -limit])

    def _pair(self, details: Any, field: str, depth: int) -> tuple[Any, Any]:
        key = self.value(details[0], details[1], field, depth)
        return tuple(key) if isinstance(key, list) else key, self.value(details[2], details[3], field, depth)

    def _text(self, field: str) -> str:
        return self.random.choice(self.world.texts(field) if self.random.random() < 0.7 else _HOSTILE)
