"""What a method declares of rights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from metastore.domain.names import DatabaseName, TableName
from metastore.domain.permissions import AnyNeed, Needs
from metastore.domain.privileges import CallerGrants
from metastore.encoding.binary import EncodedStruct
from metastore.protocol.methods import Method
from metastore.protocol.rights.named import Given


class Sees(Protocol):
    """What decides: `services.authorization`."""

    def standing(self) -> CallerGrants: ...

    def permit(self, needs: Needs) -> CallerGrants: ...

    def seen_tables(self, names: Iterable[TableName]) -> Set[TableName]: ...

    def seen_databases(self, names: Iterable[DatabaseName]) -> Set[DatabaseName]: ...

    def seen_catalogs(self, names: Iterable[str]) -> Set[str]: ...

    def hidden_tables(self, names: Iterable[TableName]) -> Set[TableName]: ...

    def owned(self, names: Iterable[TableName | DatabaseName]) -> Set[TableName | DatabaseName]: ...


NeedsOf: TypeAlias = Callable[[Given], Iterable[AnyNeed]]
Shown: TypeAlias = Callable[[Sees, Given, Any], Any]
Amend: TypeAlias = Callable[[CallerGrants, Given], None]
Condition: TypeAlias = Callable[[Given], bool]


@dataclass(frozen=True, slots=True)
class Rule:
    """Of one method. What is not set is not needed: nothing before the call, all of the answer after it.

    `amend`: what of the arguments is the caller's own to say. `shown`: of the answer, what the caller may see.
    `limit`: the argument that limits the answer, after what is hidden. `may_be_absent`: what is not there is no error.
    `in_service`: the service decides itself, in the statement that it reads with. `is_change`: what is audited.
    `readers`: whether a read-only server serves it, or which of its calls; where nothing is said, what is no change.
    """

    needs: tuple[NeedsOf, ...] = ()
    shown: Shown | None = None
    amend: Amend | None = None
    may_be_absent: Condition | None = None
    is_change: bool = False
    in_service: bool = False
    readers: bool | Condition | None = None

    @property
    def is_open(self) -> bool:
        """Tells whether there is nothing to ask around the call: anybody may call it, or its service asks."""
        return self.in_service or not (self.needs or self.shown or self.amend)

    @property
    def for_readers(self) -> bool | Condition:
        """Tells whether a read-only server serves it, or what tells of a call."""
        return not self.is_change if self.readers is None else self.readers


Bound: TypeAlias = Callable[[Method], NeedsOf]


class Declarations(dict[str, tuple[tuple[Bound, ...], dict[str, Any]]]):
    """Rules by the names of their methods, not yet bound to their arguments."""

    def __call__(self, names: str, *bound: Bound, **rest: Any) -> None:
        """Declares methods: what they need, and the rest as `Rule` has it."""
        for name in names.split():
            assert name not in self, name  # noqa: S101 - found when the module is loaded
            self[name] = bound, rest


def decoded(answer: Any) -> Any:
    """Returns an answer, or a list in one, as objects."""
    return answer.decode() if hasattr(answer, "decode") and not isinstance(answer, EncodedStruct | bytes) else answer
