"""Thrift structs in the binary protocol. Storage keeps them in this form and replies send them, without decoding.

`storage.mapping.layout` describes the stored bytes.
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
"""Some fields of a struct, in the form of Thrift's `thrift_spec`."""
STOP = b"\x00"
_CHUNK = 100  # structs in a chunk: large enough for little overhead, small enough for the processor's cache


def encode_fields(struct: Any, fields: Specification | None = None) -> bytes:
    """Encodes the fields that are set (of `fields`, see `fields_of`), without the stop byte."""
    encoded: bytes = fastbinary.encode_binary(struct, [struct.__class__, fields or struct.thrift_spec])
    return encoded[: -len(STOP)]


def encode_many(structs: Sequence[Any], fields: Specification, cut: int) -> list[bytes]:
    """Encodes fields of structs of one class, as `encode_fields`, without the last `cut` bytes of each."""
    if not structs:
        return []
    specification, end, encode = [structs[0].__class__, fields], -len(STOP) - cut, fastbinary.encode_binary
    return [encode(struct, specification)[:end] for struct in structs]


def fields_of(struct: Any, *names: str, **structs: Specification) -> Specification:
    """Returns the specification of some fields, in this order; at the end nested structs with some of theirs."""
    fields = {field[2]: field for field in struct.thrift_spec if field}
    chosen = [fields[name] for name in names]
    for name, inner in structs.items():
        number, kind, _, (nested, _), default = fields[name]
        chosen.append((number, kind, name, [nested, inner], default))
    return tuple(chosen)


def field_header(kind: int, number: int) -> bytes:
    """Returns the bytes in front of a field's value. `kind`: a Thrift TType."""
    return bytes((kind, number >> 8, number & 0xFF))


def decode(struct: type[T], data: bytes) -> T:
    """Decodes a struct from its bytes, including the stop byte."""
    decoded: Any = struct()
    decoded.read(TBinaryProtocolAccelerated(TMemoryBuffer(data), fallback=False))
    whole: T = decoded
    return whole


def copied(struct: T) -> T:
    """Returns a deep copy of a struct, in a tenth of the time of `copy.deepcopy`."""
    return decode(type(struct), encode_fields(struct) + STOP)


def decode_strictly(struct: type[T], data: bytes) -> T:
    """Decodes bytes that may be damaged: rejects sizes that exceed the data, and trailing bytes.

    Raises ValueError.
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
    """A struct with a single list, `items`, as which `decode_list` decodes."""

    __slots__ = ("items",)
    items: list[Any]


def decode_list(struct: type[T], encoded: Sequence[bytes]) -> list[T]:
    """Decodes many structs, including their stop bytes, at once: several times as fast as one by one."""
    listed = _Listed()
    elements = TType.STRUCT, [struct, struct.thrift_spec], False  # type: ignore[attr-defined] # all of them have one
    data = b"".join([field_header(TType.LIST, 1), _list_header(len(encoded)), *encoded, STOP])
    protocol = TBinaryProtocolAccelerated(TMemoryBuffer(data), fallback=False)
    fastbinary.decode_binary(listed, protocol, [_Listed, (None, (1, TType.LIST, "items", elements, None))])
    return listed.items


def _list_header(count: int) -> bytes:
    """Returns the bytes in front of the structs of a list."""
    return bytes((TType.STRUCT,)) + count.to_bytes(4, "big")


class Joined(Sequence[bytes]):
    """A sequence of slices of `data`. Each is created on access, so that many cost no memory."""

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
        positions = range(len(self))[index]
        if isinstance(positions, range):
            return [self._piece(position) for position in positions]
        return self._piece(positions)

    def _piece(self, position: int) -> bytes:
        return bytes(self._data[self._ends[position] : self._ends[position + 1]])


@dataclass(frozen=True, slots=True)
class EncodedStruct(Generic[T]):
    """An encoded struct."""

    struct: type[T]
    data: bytes

    wire_type = TType.STRUCT

    def chunks(self, before: bytes = b"", after: bytes = b"") -> Iterable[bytes]:
        """Returns the struct in the binary protocol, between the other bytes."""
        return (before + self.data + after,)

    def decode(self) -> T:
        return decode(self.struct, self.data)


@dataclass(frozen=True, slots=True)
class EncodedList(Generic[T]):
    """A list of encoded structs: the i-th one is `heads[i] + tails[i]`."""

    struct: type[T]
    heads: Sequence[bytes]
    tails: Sequence[bytes]

    wire_type = TType.LIST

    def __len__(self) -> int:
        return len(self.heads)

    def chunks(self, before: bytes = b"", after: bytes = b"") -> Iterator[bytes]:
        """Yields the list in the binary protocol, many structs in each chunk, between the other bytes."""
        yield before + _list_header(len(self.heads))
        for start in range(0, len(self.heads), _CHUNK):
            end = start + _CHUNK
            pairs = zip(self.heads[start:end], self.tails[start:end], strict=True)
            yield b"".join([piece for pair in pairs for piece in pair])
        yield after

    def decode(self) -> list[T]:
        return self._decoded(0, len(self.heads))

    def decoded(self) -> Iterator[T]:
        """Yields decoded structs; decodes many at a time."""
        for start in range(0, len(self.heads), _CHUNK):
            yield from self._decoded(start, start + _CHUNK)

    def _decoded(self, start: int, end: int) -> list[T]:
        pairs = zip(self.heads[start:end], self.tails[start:end], strict=True)
        return decode_list(self.struct, [head + tail for head, tail in pairs])


@dataclass(frozen=True, slots=True)
class EncodedTexts:
    """A list of texts: each with its length in front."""

    count: int
    data: bytes

    wire_type = TType.LIST

    def chunks(self, before: bytes = b"", after: bytes = b"") -> Iterator[bytes]:
        """Yields the list in the binary protocol, between the other bytes."""
        yield before + bytes((TType.STRING,)) + self.count.to_bytes(4, "big")
        yield self.data
        yield after

    def changed(self, changes: Iterable[tuple[str, bool]]) -> EncodedTexts:
        """Returns a list of ascending, distinct texts with changes. Copies the list, but does not decode it.

        `changes`: ascending texts, each with whether the result has it. Texts are not empty and have no NUL character.
        """
        pieces, count, start = [], self.count, 0
        for text, is_present in changes:
            encoded = text.encode()
            item = len(encoded).to_bytes(4, "big") + encoded
            place = self._place(encoded, start)
            if self.data.startswith(item, place) != is_present:
                pieces += [self.data[start:place], item if is_present else b""]
                start = place if is_present else place + len(item)
                count += 1 if is_present else -1
        return EncodedTexts(count, b"".join([*pieces, self.data[start:]]))

    def _place(self, text: bytes, low: int) -> int:
        """Returns the position of the first item from the item at `low` on that is not less than a text.

        Items are found from any position because only lengths contain NUL. They begin with two: no text has 64 KiB.
        """
        data, high = self.data, len(self.data)
        while low < high:
            item = data.rfind(b"\0\0", low, (low + high) // 2 + 2)
            while item > low and not data[item - 1]:
                item -= 1
            end = item + 4 + int.from_bytes(data[item : item + 4], "big")
            if data[item + 4 : end] < text:
                low = end
            else:
                high = item
        return low

    def decode(self) -> list[str]:
        texts, end = [], 0
        for _ in range(self.count):
            start = end + 4
            end = start + int.from_bytes(self.data[end:start], "big")
            texts.append(self.data[start:end].decode())
        return texts


@dataclass(frozen=True, slots=True)
class EncodedMap(Generic[T]):
    """A map from names to lists of structs."""

    lists: Mapping[str, EncodedList[T]]

    wire_type = TType.MAP

    def chunks(self, before: bytes = b"", after: bytes = b"") -> Iterator[bytes]:
        """Yields the map in the binary protocol, between the other bytes."""
        yield before + bytes((TType.STRING, TType.LIST)) + len(self.lists).to_bytes(4, "big")
        for name, structs in self.lists.items():
            key = name.encode()
            yield from structs.chunks(len(key).to_bytes(4, "big") + key)
        yield after

    def decode(self) -> dict[str, list[T]]:
        return {name: structs.decode() for name, structs in self.lists.items()}
