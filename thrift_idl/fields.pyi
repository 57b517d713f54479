"""Types of the fields of generated structs, for type checkers only: the module does not exist at run time."""

from collections.abc import Iterable
from typing import Any, Generic, Protocol, TypeVar

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

class Encoded(Protocol[T_co]):
    """An already encoded value, accepted instead of the value in replies (`metastore.encoding.binary`)."""

    def chunks(self, before: bytes = ..., after: bytes = ...) -> Iterable[bytes]: ...
    def decode(self) -> T_co: ...

class Field(Generic[T]):
    """A field of a struct. Any field of a received struct may be None, because Thrift does not check required fields.

    Reading returns `T | Any`, so that readers need not test every field for None.
    """

    def __get__(self, struct: object, kind: type[Any] | None = None) -> T | Any: ...
    def __set__(self, struct: object, value: T | Encoded[T] | None) -> None: ...
