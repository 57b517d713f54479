"""The declaration of one wire method, written as a decorator of its handler."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol, TypeAlias, TypeVar

from metastore.domain.names import DatabaseName, TableName
from metastore.domain.permissions import Administrator, RequiredPrivilege, Requirement
from metastore.domain.privileges import CallerGrants, Duty, Right
from metastore.errors import ConfigurationError
from metastore.operations.fields import Field, Reader, field_reader

_ATTRIBUTE: Final = "operation"
TARGET: Final = None
"""Among the fields of `from_fields`: the operation's own target."""

Handler = TypeVar("Handler", bound=Callable[..., Any])


class Authorizer(Protocol):
    """Decides what the caller may do and see: `services.authorization`. Objects that the caller may not see are
    reported as if they did not exist.
    """

    def grants(self) -> CallerGrants: ...

    def check(self, requirements: Iterable[Requirement]) -> CallerGrants: ...

    def visible_tables(
        self, names: Iterable[TableName], asked: Iterable[TableName | DatabaseName] = ()
    ) -> AbstractSet[TableName]: ...

    def visible_databases(self, names: Iterable[DatabaseName]) -> AbstractSet[DatabaseName]: ...

    def visible_catalogs(self, names: Iterable[str]) -> AbstractSet[str]: ...

    def hidden_tables(self, names: Iterable[TableName]) -> AbstractSet[TableName]: ...

    def owned(self, names: Iterable[TableName | DatabaseName]) -> AbstractSet[TableName | DatabaseName]: ...


class FieldFunction(NamedTuple):
    """A function of some fields of a call. None stands for the operation's target."""

    function: Callable[..., Any]
    fields: tuple[Field | None, ...] = ()

    def bound(self, arguments: type[Any], target: Field | None) -> Callable[..., Any]:
        """Returns a function of (…, arguments) that calls this one with (…, *values of the fields).

        Raises ConfigurationError if the arguments have no such field.
        """
        function, readers = (
            self.function,
            [_reader(arguments, target if field is None else field) for field in self.fields],
        )
        if len(readers) == 1:
            read = readers[0]
            return lambda *values: function(*values[:-1], read(values[-1]))
        return lambda *values: function(*values[:-1], *[read(values[-1]) for read in readers])


def _reader(arguments: type[Any], field: Field | None) -> Reader:
    if field is None:
        raise ConfigurationError(f"{arguments.__name__}: the operation reads its target, but declares none")
    return field_reader(arguments, field)


def from_fields(function: Callable[..., Any], *fields: Field | None) -> FieldFunction:
    """Declares that `function` gets these fields of the call (TARGET: the operation's target)."""
    return FieldFunction(function, fields)


def any_of(*rights: Right) -> FieldFunction:
    """Requires one of these rights on the target. Without rights, the target must be visible."""
    return FieldFunction(lambda securable: (RequiredPrivilege(securable, rights),), (TARGET,))


visible: Final = any_of()
"""Requires that the caller may see the target."""
administrator: Final = FieldFunction(lambda: (Administrator(),))
"""Requires an administrator of everything."""
data_administrator: Final = FieldFunction(lambda: (Administrator(Duty.DATA),))
"""Requires an administrator of data."""
security_administrator: Final = FieldFunction(lambda: (Administrator(Duty.SECURITY),))
"""Requires an administrator of security."""

Answer: TypeAlias = "FieldFunction | Callable[[Authorizer, Any], Any]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """The declaration of a wire method. Without the optional fields, any caller may call it and gets the whole answer.

    Attributes:
        target: the object that the call is about; the log names it.
        requirements: functions that return the `Requirement`s of a call.
        assignments: functions (grants, *fields) that set fields that the caller may not choose.
        answer_filter: a function (authorizer, answer, *fields) that returns the part of the reply that the caller may
            see.
        limit: the path of the field that limits the answer. It is applied after the filter.
        zero_is_unlimited: whether a limit of 0 means no limit, and not an empty answer.
        missing_ok: if the target does not exist, nothing happens; or the path of a boolean that says so.
        missing_answer: returns the answer in that case.
        checked_by_service: the service checks the requirements itself, in the statement that reads the object.
        is_change: the call is audited, and rejected by a read-only server.
        served_read_only: whether a read-only server serves the call, if that does not follow from `is_change`; or a
            function of fields that returns it.
        audit_detail: a function of fields that returns details for the audit log.
        entries: the path of the list of partitions in the call. Quotas and the log count it.
        quota_exempt: quotas do not apply: the call identifies a client, or releases resources that other clients wait
            for.
    """

    target: Field | None = None
    requirements: tuple[FieldFunction, ...] = ()
    assignments: FieldFunction | None = None
    answer_filter: Answer | None = None
    limit: str | None = None
    zero_is_unlimited: bool = False
    missing_ok: str | bool = False
    missing_answer: Callable[[], Any] = lambda: None
    checked_by_service: bool = False
    is_change: bool = False
    served_read_only: bool | FieldFunction | None = None
    audit_detail: FieldFunction | None = None
    entries: str | None = None
    quota_exempt: bool = False


def operation(target: Field | None, *requirements: FieldFunction, **declared: Any) -> Callable[[Handler], Handler]:
    """Declares the operation of a handler: its target, its requirements, and other fields of `Operation`."""
    declaration = Operation(target=target, requirements=requirements, **declared)

    def declare(handler: Handler) -> Handler:
        setattr(handler, _ATTRIBUTE, declaration)
        return handler

    return declare


def change(target: Field | None, *requirements: FieldFunction, **declared: Any) -> Callable[[Handler], Handler]:
    """Declares an operation that changes the catalog: it is audited, and rejected by a read-only server."""
    return operation(target, *requirements, is_change=True, **declared)


def operation_of(handler: object) -> Operation | None:
    """Returns the operation that a handler declares, if any."""
    declaration = getattr(handler, _ATTRIBUTE, None)
    return declaration if isinstance(declaration, Operation) else None
