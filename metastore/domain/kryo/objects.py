"""Decoder of Java objects in Kryo's format.

Bytes from clients are untrusted: class names only select a layout, and no class is loaded or instantiated by its name.
The format is that of Kryo's FieldSerializer, CollectionSerializer and DefaultClassResolver with references, in the
configuration of Hive's SerializationUtilities.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from metastore.domain.kryo.input import Input, UnreadableExpressionError
from metastore.domain.kryo.layouts import EXPRESSIONS, HADOOP, LAYOUTS, Layout

# One level of an expression is three levels of objects: the node, the list of its children, the child.
MAX_DEPTH = 150
MAX_OBJECTS = 200_000


@dataclass(slots=True)
class JavaObject:
    """An instance of a class in `layouts`. `fields` are those that have a name in the layout."""

    name: str
    fields: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EpochMillis:
    """A java.sql.Date or java.sql.Timestamp: milliseconds since 1970 in UTC, and the nanoseconds of the second.

    The date and time of day depend on the client's time zone.
    """

    millis: int
    nanos: int | None = None


_UNFINISHED = object()
_ENUMERATION = "an enumeration"
_BYTES = "bytes"
_LIST = "java.util.ArrayList"
_ARRAY_LIST = "java.util.Arrays$ArrayList"
_SINGLETON = "java.util.Collections$SingletonList"
_EMPTY = "java.util.Collections$EmptyList"
_WRAPPED = {"Z": "z", "Y": "b", "H": "s", "I": "i", "J": "j", "F": "f", "D": "d"}
# Final classes. Fields of these types are written without a class.
_FINAL = {
    "S": "String",
    "W": f"{HADOOP}hive.serde2.io.HiveDecimalWritable",
    "t": "java.time.LocalDate",
    "u": "java.time.LocalDateTime",
}
_BY_NUMBER = ("int", "String", "float", "boolean", "byte", "char", "short", "long", "double", "void")
_WRAPPERS = {"int": "i", "float": "f", "boolean": "z", "byte": "b", "short": "s", "long": "j", "double": "d"}
# Classes that Hive registers in SerializationUtilities, by number. 13 is a list in Hive 2.3, and a Path in 3.1.
_REGISTERED = {
    3: {10: "java.sql.Date", 11: "java.sql.Timestamp", 13: _ARRAY_LIST, 14: _ARRAY_LIST},
    5: {9: "java.sql.Date", 10: "java.sql.Timestamp", 13: _ARRAY_LIST},
}


def expression_object(data: bytes) -> JavaObject:
    """Decodes an expression of Hive 2.3, 3.1 or 4. Raises UnreadableExpressionError."""
    if data[:2] == b"\x01\x00":
        return _Reader(Input(data, 5)).whole()
    return _Reader(Input(data, 3)).whole()


class _Reader:
    """Decodes one object tree. `_classes` and `_objects` have the classes and objects that references name."""

    def __init__(self, source: Input) -> None:
        self._input = source
        self._layouts = LAYOUTS[source.version]
        self._classes: list[str] = []
        self._objects: list[tuple[str, Any]] = []
        self._depth = 0
        self._readers: dict[str, Callable[[], Any]] = {
            "String": source.text,
            "java.sql.Date": lambda: EpochMillis(int(source.fixed("q"))),
            "java.sql.Timestamp": lambda: EpochMillis(int(source.fixed("q")), int(source.fixed("i"))),
            "java.time.LocalDate": self._date,
            "java.time.LocalDateTime": self._date_time,
            "java.time.LocalTime": self._old_time,
            "java.util.GregorianCalendar": self._calendar,
            _LIST: self._list if source.version == 5 else self._old_list,
            _ARRAY_LIST: self._array_list,
            _SINGLETON: lambda: [self._object()],
            _EMPTY: list,
        }

    def whole(self) -> JavaObject:
        """Decodes the whole expression. Only Hive 4 writes the class of the root."""
        root = f"{EXPRESSIONS}GenericFuncDesc"
        node = self._object() if self._input.version == 5 else self._instance(root)
        if not isinstance(node, JavaObject) or not node.name.startswith(EXPRESSIONS):
            raise UnreadableExpressionError("it is not an expression")
        if self._input.left:
            raise UnreadableExpressionError("data follows the expression")
        return node

    def _object(self) -> Any:
        """Decodes a class and an object of this class."""
        name = self._class()
        return None if name is None else self._instance(name)

    def _class(self) -> str | None:
        number = self._input.varint()
        if number == 0:
            return None
        if number == 1:
            return self._named_class()
        if number - 2 < len(_BY_NUMBER) and number - 2 not in _REGISTERED[self._input.version]:
            return _BY_NUMBER[number - 2]
        name = _REGISTERED[self._input.version].get(number - 2)
        if name is None:
            raise UnreadableExpressionError(f"class {number - 2} is not supported")
        return name

    def _named_class(self) -> str:
        number = self._input.varint()
        if number == len(self._classes):
            self._classes.append(self._input.text() or "")
        elif number > len(self._classes):
            raise UnreadableExpressionError("class numbers are out of order")
        return self._classes[number]

    def _instance(self, name: str, *, nullable: bool = False) -> Any:
        """Decodes an object of a class, or a reference to an earlier one. `nullable` allows null."""
        if name in _WRAPPERS:
            return None if nullable and self._input.varint() == 0 else self._primitive(_WRAPPERS[name])
        reference = self._input.varint()
        if reference == 0:
            if not nullable:
                raise UnreadableExpressionError("an object is missing")
            return None
        if reference > 1:
            return self._referenced(reference - 2, name)
        position = self._register(name)
        if self._depth >= MAX_DEPTH:
            raise UnreadableExpressionError("it has too many levels")
        self._depth += 1
        value = self._body(name)
        self._depth -= 1
        self._objects[position] = name, value
        return value

    def _register(self, name: str, value: Any = _UNFINISHED) -> int:
        """Registers the next object and returns its number in references."""
        if len(self._objects) >= MAX_OBJECTS:
            raise UnreadableExpressionError(f"it has more than {MAX_OBJECTS:,} objects")
        self._objects.append((name, value))
        return len(self._objects) - 1

    def _referenced(self, position: int, name: str) -> Any:
        kind, value = self._objects[position] if position < len(self._objects) else ("", _UNFINISHED)
        if value is _UNFINISHED or kind != name:
            raise UnreadableExpressionError("a reference is invalid")
        return value

    def _body(self, name: str) -> Any:
        read = self._readers.get(name)
        if read is not None:
            return read()
        layout = self._layouts.get(name)
        if layout is None and name.startswith("[L"):
            return [self._object() for _ in range(self._input.count(self._input.varint() - 1))]
        if layout is None:
            shown = name.removeprefix(HADOOP)[:100]
            raise UnreadableExpressionError(
                f"class {shown} is not supported" if shown.isprintable() else "a class has no name"
            )
        return self._fields(name, layout)

    def _fields(self, name: str, layout: Layout) -> JavaObject:
        instance = JavaObject(name)
        for field_name, kind in zip(layout.names, layout.kinds, strict=True):
            value = self._field(kind)
            if field_name:
                instance.fields[field_name] = value
        return instance

    def _field(self, kind: str) -> Any:
        match kind:
            case "o":
                return self._object()
            case "E":
                return self._enumerated()
            case "B":
                return self._bytes()
            case "L":
                return self._texts()
        if kind in _FINAL:
            return self._instance(_FINAL[kind], nullable=True)
        if kind in _WRAPPED:
            return None if self._input.varint() == 0 else self._primitive(_WRAPPED[kind])
        return self._primitive(kind)

    def _primitive(self, kind: str) -> Any:
        match kind:
            case "z":
                return self._input.boolean()
            case "b":
                return (self._input.byte() ^ 0x80) - 0x80
            case "i":
                return self._input.zigzag()
            case "j":
                return self._input.zigzag(64)
        return self._input.fixed({"s": "h"}.get(kind, kind))

    def _enumerated(self) -> int | None:
        """Decodes an enumeration constant: its ordinal plus 1, or None."""
        reference = self._input.varint()
        if reference == 0:
            return None
        if self._input.version == 3:
            if reference > 1:
                return int(self._referenced(reference - 2, _ENUMERATION))
            position = self._register(_ENUMERATION)
            self._objects[position] = _ENUMERATION, self._input.varint()
            return int(self._objects[position][1])
        return self._input.varint()

    def _bytes(self) -> None:
        """Skips a byte array."""
        reference = self._input.varint()
        if reference > 1:
            self._referenced(reference - 2, _BYTES)
        elif reference == 1:
            self._register(_BYTES, None)
            for _ in range(self._input.count(max(self._input.varint() - 1, 0))):
                self._input.byte()

    def _old_list(self) -> list[Any]:
        return [self._object() for _ in range(self._input.count(self._input.varint()))]

    def _list(self) -> list[Any]:
        """Decodes a list of Kryo 5.

        The header is a flag (all elements have one class), the length plus 1, the class, and whether null occurs.
        """
        same, length = self._input.flagged()
        length = self._input.count(length - 1)
        if not length:
            return []
        if not same:
            return [self._object() for _ in range(length)]
        name = self._class()
        if name is None:
            return [None] * length
        nullable = self._input.boolean()
        return [self._instance(name, nullable=nullable) for _ in range(length)]

    def _array_list(self) -> list[Any]:
        length = self._input.count(self._input.varint())
        self._class()  # class of the array
        return [self._object() for _ in range(length)]

    def _texts(self) -> Any:
        """Decodes a list of Strings, whose elements have no class."""
        name = self._class()
        if name != _LIST:
            return None if name is None else self._instance(name)
        reference = self._input.varint()
        if reference > 1:
            return self._referenced(reference - 2, _LIST)
        position = self._register(_LIST)
        if self._input.version == 3:
            nullable, length = True, self._input.varint()
        else:
            nullable, length = self._input.flagged()
            length -= 1
        texts = [self._instance("String", nullable=nullable) for _ in range(self._input.count(length))]
        self._objects[position] = _LIST, texts
        return texts

    def _calendar(self) -> None:
        """Skips a GregorianCalendar: time zone, milliseconds, lenient, first day of the week, days in the first week,
        change from the Julian calendar.
        """
        self._input.text()
        self._input.varint(64)
        self._input.boolean()
        self._input.varint()
        self._input.varint()
        self._input.varint(64)

    def _date(self) -> datetime.date:
        if self._input.version == 3:
            day, month, year = self._input.fixed("h"), self._input.fixed("h"), self._input.zigzag()
        else:
            year, month, day = self._input.varint(), self._input.byte(), self._input.byte()
        try:
            return datetime.date(year, int(month), int(day))
        except (ValueError, OverflowError):
            raise UnreadableExpressionError("a date is invalid") from None

    def _date_time(self) -> tuple[datetime.date, int, int, int, int]:
        """Decodes a LocalDateTime: date, hour, minute, second, nanosecond."""
        if self._input.version == 5:
            return self._date(), *self._time()
        return self._old_date_time()

    def _old_date_time(self) -> tuple[datetime.date, int, int, int, int]:
        day = self._instance("java.time.LocalDate", nullable=True)
        time = self._instance("java.time.LocalTime", nullable=True)
        if not isinstance(day, datetime.date) or not isinstance(time, tuple):
            raise UnreadableExpressionError("a timestamp is invalid")
        hour, minute, second, nanos = time
        return day, hour, minute, second, nanos

    def _old_time(self) -> tuple[int, int, int, int]:
        hour, minute = self._input.byte(), self._input.byte()
        nanos, second = self._input.zigzag(), self._input.byte()
        return hour, minute, second, nanos

    def _time(self) -> tuple[int, int, int, int]:
        """Decodes a LocalTime. Trailing zeros are omitted; the last part before them is written as its complement."""
        parts = [0, 0, 0]
        for index in range(3):
            part = self._input.byte()
            if part >= 0x80:
                parts[index] = 0xFF - part
                return parts[0], parts[1], parts[2], 0
            parts[index] = part
        return parts[0], parts[1], parts[2], self._input.varint()
