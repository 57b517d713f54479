"""Thrift structs as bytes of the binary protocol: what storage keeps and the wire sends, without an object in between.

What lies where in the bytes that are stored is drawn in `storage.mapping.layout`.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Generic, TypeAlias, TypeVar, cast, overload

from thrift.protocol import fastbinary
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.Thrift import TException, TType
from thrift.transport.TTransport import TMemoryBuffer

T = TypeVar("T")
Specification: TypeAlias = tuple[Any, ...]
"""Some fields of a struct, as Thrift's `thrift_spec` describes them."""
STOP = b"\x00"
_CHUNK = 100  # structs a chunk: large enough to cost little, small enough to stay in the processor's cache


def encode_fields(struct: Any, fields: Specification | None = None) -> bytes:
    """Returns the struct's set fields, or these of them (`fields_of`), without the stop byte."""
    encoded: bytes = fastbinary.encode_binary(struct, [struct.__class__, fields or struct.thrift_spec])
    return encoded[: -len(STOP)]


def fields_of(struct: Any, *names: str, **structs: Specification) -> Specification:
    """Some of a struct's fields, as its specification has them, in this order; last, structs with some of theirs."""
    fields = {field[2]: field for field in struct.thrift_spec if field}
    chosen = [fields[name] for name in names]
    for name, inner in structs.items():
        number, kind, _, (nested, _), default = fields[name]
        chosen.append((number, kind, name, [nested, inner], default))
    return tuple(chosen)


def field_header(kind: int, number: int) -> bytes:
    """Returns what stands before a field's value. `kind` is a Thrift TType."""
    return bytes((kind, number >> 8, number & 0xFF))


def decode(struct: type[T], data: bytes) -> T:
    """Returns the struct whose bytes, stop byte included, are given."""
    decoded: Any = struct()
    decoded.read(TBinaryProtocolAccelerated(TMemoryBuffer(data), fallback=False))
    whole: T = decoded
    return whole


def decode_strictly(struct: type[T], data: bytes) -> T:
    """Decodes as `decode` bytes that may be damaged: no size in them is believed that is larger than they are.

    Raises ValueError where they are not one whole struct.
    """
    decoded, buffer, size = cast(Any, struct()), TMemoryBuffer(data), len(data)
    limits = {"string_length_limit": size, "container_length_limit": size}
    try:
        decoded.read(TBinaryProtocolAccelerated(buffer, fallback=False, **limits))
    except (TException, EOFError, TypeError, OverflowError) as error:
        raise ValueError(str(error) or type(error).__name__) from error
    if (rest := size - buffer.cstringio_buf.tell()) > 0:
        raise ValueError(f"{rest} bytes are left over")
    return cast(T, decoded)


class _Listed:
    """Decoded instead of a struct that holds nothing but a list, in `items`."""

    __slots__ = ("items",)
    items: list[Any]


def decode_list(struct: type[T], encoded: Sequence[bytes]) -> list[T]:
    """Structs whose bytes, stop bytes included, are given: at once, several times as fast as one by one."""
    listed = _Listed()
    elements = TType.STRUCT, [struct, struct.thrift_spec], False  # type: ignore[attr-defined] # all of them have one
    data = b"".join([field_header(TType.LIST, 1), _list_header(len(encoded)), *encoded, STOP])
    protocol = TBinaryProtocolAccelerated(TMemoryBuffer(data), fallback=False)
    fastbinary.decode_binary(listed, protocol, [_Listed, (None, (1, TType.LIST, "items", elements, None))])
    return listed.items


def _list_header(count: int) -> bytes:
    """Returns what stands before the structs of a list."""
    return bytes((TType.STRUCT,)) + count.to_bytes(4, "big")


class Joined(Sequence[bytes]):
    """Pieces that lie one behind the other in `data`. Each is made when it is asked for: of many, none is kept."""

    def __init__(self, data: bytes | memoryview, sizes: Iterable[int]) -> None:
        self._data = memoryview(data)
        self._ends = array("q", accumulate(sizes, initial=0))

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> list[bytes]: ...
    def __getitem__(self, index: int | slice) -> bytes | list[bytes]:
        places = range(len(self))[index]
        if isinstance(places, range):
            return [self._piece(place) for place in places]
        return self._piece(places)

    def _piece(self, place: int) -> bytes:
        return bytes(self._data[self._ends[place] : self._ends[place + 1]])


@dataclass(frozen=True, slots=True)
class EncodedStruct(Generic[T]):
    """One struct: `data` holds all of its bytes."""

    struct: type[T]
    data: bytes

    wire_type = TType.STRUCT

    def chunks(self) -> Iterator[bytes]:
        yield self.data

    def decode(self) -> T:
        return decode(self.struct, self.data)


@dataclass(frozen=True, slots=True)
class EncodedList(Generic[T]):
    """A list of structs: `heads[i] + tails[i]` are the bytes of the i-th."""

    struct: type[T]
    heads: Sequence[bytes]
    tails: Sequence[bytes]

    wire_type = TType.LIST

    def __len__(self) -> int:
        return len(self.heads)

    def chunks(self) -> Iterator[bytes]:
        """Returns the list as the binary protocol writes it, many structs at a time."""
        yield _list_header(len(self.heads))
        for start in range(0, len(self.heads), _CHUNK):
            end = start + _CHUNK
            pairs = zip(self.heads[start:end], self.tails[start:end], strict=True)
            yield b"".join([piece for pair in pairs for piece in pair])

    def decode(self) -> list[T]:
        return self._decoded(0, len(self.heads))

    def decoded(self) -> Iterator[T]:
        """Decodes some at a time."""
        for start in range(0, len(self.heads), _CHUNK):
            yield from self._decoded(start, start + _CHUNK)

    def _decoded(self, start: int, end: int) -> list[T]:
        pairs = zip(self.heads[start:end], self.tails[start:end], strict=True)
        return decode_list(self.struct, [head + tail for head, tail in pairs])


@dataclass(frozen=True, slots=True)
class EncodedTexts:
    """A list of texts: `data` holds the bytes of each, its length before it."""

    count: int
    data: bytes

    wire_type = TType.LIST

    def chunks(self) -> Iterator[bytes]:
        """Returns the list as the binary protocol writes it."""
        yield bytes((TType.STRING,)) + self.count.to_bytes(4, "big")
        yield self.data

    def decode(self) -> list[str]:
        texts, at = [], 0
        for _ in range(self.count):
            start = at + 4
            at = start + int.from_bytes(self.data[at:start], "big")
            texts.append(self.data[start:at].decode())
        return texts


@dataclass(frozen=True, slots=True)
class EncodedMap(Generic[T]):
    """A list of structs by each of some names."""

    lists: Mapping[str, EncodedList[T]]

    wire_type = TType.MAP

    def chunks(self) -> Iterator[bytes]:
        """Returns the map as the binary protocol writes it."""
        yield bytes((TType.STRING, TType.LIST)) + len(self.lists).to_bytes(4, "big")
        for name, structs in self.lists.items():
            key = name.encode()
            yield len(key).to_bytes(4, "big") + key
            yield from structs.chunks()

    def decode(self) -> dict[str, list[T]]:
        return {name: structs.decode() for name, structs in self.lists.items()}
