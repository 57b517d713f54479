"""Arguments for any wire method, generated from its `thrift_spec` and some meaningful structs."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
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
_DEPTH = 5


@dataclass(frozen=True)
class World:
    """Existing names, so that calls pass the first lookup. `samples`: structs as clients send them."""

    database: str
    table: str
    partition: Mapping[str, str]
    samples: Sequence[Any]

    def texts(self, field: str) -> Sequence[str]:
        """Returns a plausible value for a field of this name."""
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

    def samples_of(self, struct: Any) -> list[Any]:
        """Returns copies of the structs of this class."""
        return [copy.deepcopy(sample) for sample in self.samples if type(sample) is struct]


def specs_of(struct: Any) -> list[tuple[Any, ...]]:
    """Lists the fields of a generated class: number, type, name, details of the type, default."""
    return [spec for spec in struct.thrift_spec if spec is not None]


def empty(kind: int, details: Any) -> Any:
    """Returns the emptiest set value of a type."""
    if kind == TType.STRUCT:
        return details[0]()
    if kind == TType.STRING:
        return b"" if details == "BINARY" else ""
    return {TType.BOOL: False, TType.DOUBLE: 0.0, TType.LIST: [], TType.SET: set(), TType.MAP: {}}.get(kind, 0)


@dataclass(frozen=True)
class Noise:
    """Values of any type, plausible or not. `level`: the share of implausible values, from 0 to 1."""

    random: Random
    world: World
    level: float

    def arguments(self, specs: Iterable[tuple[Any, ...]]) -> list[Any]:
        """Returns one value for each field."""
        return [self._field(spec, 0) for spec in specs]

    def _noisy(self) -> bool:
        return self.random.random() < self.level

    def _field(self, spec: tuple[Any, ...], depth: int) -> Any:
        _, kind, name, details, _ = spec
        if "timeout" in name.lower():
            return 1  # a call that asks to wait long does wait
        return None if depth > _DEPTH or self._noisy() else self._value(kind, details, name, depth)

    def _value(self, kind: int, details: Any, field: str, depth: int) -> Any:
        random = self.random
        if kind == TType.STRUCT:
            return self._struct(details[0], depth + 1)
        if kind == TType.STRING:
            return random.randbytes(random.randrange(9)) if details == "BINARY" else self._text(field)
        if kind in (TType.LIST, TType.SET):
            items = self._items(details, field, depth + 1)
            return items if kind == TType.LIST else set(items)
        if kind == TType.MAP:
            return dict(self._pair(details, field, depth + 1) for _ in range(random.randrange(3)))
        if kind == TType.BOOL:
            return random.random() < 0.5
        if kind == TType.DOUBLE:
            return random.choice([0.0, -1.5, 1e308, float("inf"), float("nan")])
        limit = 2 ** _BITS[kind]
        return random.choice([0, -1, 32_767 % limit, limit - 1, -limit] if self._noisy() else [1, 2, 3])

    def _struct(self, struct: Any, depth: int) -> Any:
        """Returns a sample with perhaps one changed field, or a struct of random values."""
        samples = [] if self._noisy() else self.world.samples_of(struct)
        if not samples:
            return struct(**{spec[2]: self._field(spec, depth) for spec in specs_of(struct)})
        sample = self.random.choice(samples)
        while self.random.random() < 0.3 + self.level:
            spec = self.random.choice(specs_of(struct))
            setattr(sample, spec[2], self._field(spec, depth))
        return sample

    def _items(self, details: Any, field: str, depth: int) -> list[Any]:
        noisy = self._noisy()
        if not noisy and details[0] == TType.STRING and "val" in field.lower():
            return list(self.world.partition.values())
        return [
            self._value(details[0], details[1], field, depth) for _ in range(self.random.randrange(4) if noisy else 1)
        ]

    def _pair(self, details: Any, field: str, depth: int) -> tuple[Any, Any]:
        key = self._value(details[0], details[1], field, depth)
        return tuple(key) if isinstance(key, list) else key, self._value(details[2], details[3], field, depth)

    def _text(self, field: str) -> str:
        return self.random.choice(_HOSTILE if self._noisy() else self.world.texts(field))
