"""The types of the fields of generated structs, for type checkers alone: no such module is loaded."""

from collections.abc import Iterator
from typing import Any, Generic, Protocol, TypeVar

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

class Encoded(Protocol[T_co]):
    """What may stand for a value where it is written: its bytes (`metastore.encoding.binary`)."""

    def chunks(self) -> Iterator[bytes]: ...
    def decode(self) -> T_co: ...

class Field(Generic[T]):
    """A field. It may be unset, whatever the IDL says: structs that come over the wire were checked for nothing.

    That every reader asks for None first would hide more than it shows, so a field is read as its type or anything.
    """

    def __get__(self, struct: object, kind: type[Any] | None = None) -> T | Any: ...
    def __set__(self, struct: object, value: T | Encoded[T] | None) -> None: ...
