"""Wire methods: the generated classes of their arguments and results, and their operations bound to these classes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from thrift.Thrift import TType

from metastore.domain.permissions import Requirement
from metastore.domain.read_methods import is_read
from metastore.errors import ConfigurationError
from metastore.operations.fields import Arguments, DatabaseFields, TableFields, field_reader, label_reader
from metastore.operations.operation import FieldFunction, Operation, operation_of
from thrift_idl.gen.fb303 import FacebookService
from thrift_idl.gen.hive_metastore import ThriftHiveMetastore
from thrift_idl.gen.hive_metastore.ttypes import EnvironmentContext
from thrift_idl.gen.metastore import Metastore

_SERVICES = (Metastore, ThriftHiveMetastore, FacebookService)
_SUFFIX = "_args"


class Method:
    """One wire method. Raises ConfigurationError if its operation names a field that its arguments do not have.

    Attributes:
        noun: the group of methods to which it belongs: the name of its handlers' module.
        arguments, result: the generated classes; a oneway method has no result.
        fields: names of the arguments, in the order of the handler's parameters.
        structs: names of the arguments that must be set.
        is_read: whether its name marks it as a read, which clients may repeat.
        names_database: whether its target is a table or a database.
    """

    def __init__(self, name: str, noun: str, operation: Operation) -> None:
        service = next((service for service in _SERVICES if hasattr(service, name + _SUFFIX)), None)
        if service is None:
            raise ConfigurationError(f"{name} declares an operation, but the IDL has no such method")
        self.name = name
        self.noun = noun
        self.operation = operation
        self.arguments: type[Any] = getattr(service, name + _SUFFIX)
        self.result: type[Any] | None = getattr(service, f"{name}_result", None)
        specs = [spec for spec in self.arguments.thrift_spec if spec is not None]
        self.fields = tuple(spec[2] for spec in specs)
        self.structs = tuple(
            spec[2] for spec in specs if spec[1] == TType.STRUCT and spec[3][0] is not EnvironmentContext
        )
        self.is_read = is_read(name)
        self.names_database = isinstance(operation.target, TableFields | DatabaseFields)
        self._requirements = [self._bound(function) for function in operation.requirements]
        self._label = label_reader(self.arguments, operation.target) if operation.target is not None else None
        self._target = field_reader(self.arguments, operation.target) if operation.target is not None else None
        self._entries = field_reader(self.arguments, operation.entries) if operation.entries else None
        self._limit_holder = self._limit_field = ""
        if operation.limit:
            field_reader(self.arguments, operation.limit)
            self._limit_holder, _, self._limit_field = operation.limit.rpartition(".")
        self.assign = self._optional(operation.assignments)
        self.filter = self._optional(operation.answer_filter)
        self.audit_detail = self._optional(operation.audit_detail)
        ignore = operation.missing_ok
        self.missing_ok = field_reader(self.arguments, ignore) if isinstance(ignore, str) else lambda _: ignore
        served = operation.served_read_only
        self.served_read_only: bool | Callable[[Arguments], bool] = (
            self._bound(served)
            if isinstance(served, FieldFunction)
            else not operation.is_change
            if served is None
            else served
        )

    def _bound(self, function: FieldFunction) -> Callable[..., Any]:
        return function.bound(self.arguments, self.operation.target)

    def _optional(self, function: Any) -> Callable[..., Any] | None:
        if function is None:
            return None
        if isinstance(function, FieldFunction):
            return self._bound(function)
        return lambda *values: function(*values[:-1])

    def requirements(self, arguments: Arguments) -> list[Requirement]:
        """Returns the requirements for a call with these arguments."""
        return [requirement for function in self._requirements for requirement in function(arguments)]

    def target(self, arguments: Arguments) -> Any:
        """Returns the object that the call is about: a TableName, a DatabaseName, another value, or None.

        Raises InvalidInputError for a malformed name.
        """
        return self._target(arguments) if self._target else None

    def entries(self, arguments: Arguments) -> int | None:
        """Returns the number of partitions that the call lists; None if it lists none."""
        entries = self._entries(arguments) if self._entries else None
        return len(entries) if isinstance(entries, list) else None

    def label(self, arguments: Arguments) -> str:
        """Returns the target and the number of partitions, for the log: `database.table[3]`."""
        text = self._label(arguments) if self._label else ""
        count = self.entries(arguments)
        return text if count is None else f"{text}[{count}]"

    def take_limit(self, arguments: Arguments) -> int | None:
        """Returns the limit of the answer, and removes it from the arguments. None: the operation declares no limit."""
        if not self._limit_field:
            return None
        holder = getattr(arguments, self._limit_holder) if self._limit_holder else arguments
        limit: int | None = getattr(holder, self._limit_field)
        setattr(holder, self._limit_field, -1)
        return None if limit == 0 and self.operation.zero_is_unlimited else limit


def idl_methods() -> set[str]:
    """Returns the names of all methods of the IDL."""
    return {name.removesuffix(_SUFFIX) for service in _SERVICES for name in vars(service) if name.endswith(_SUFFIX)}


def methods_of(noun: str, handlers: type[Any], known: Iterable[str] = ()) -> dict[str, Method]:
    """Returns the methods that a class of handlers serves, by name. `known`: names of the IDL's methods.

    Raises ConfigurationError for a wire method without a declared operation, and for an operation that names an unknown
    method or field.
    """
    methods = {}
    for name, handler in vars(handlers).items():
        declaration = operation_of(handler)
        if declaration is not None:
            methods[name] = Method(name, noun, declaration)
        elif name in known:
            raise ConfigurationError(f"{handlers.__name__}.{name} declares no operation: decorate it with @operation")
    return methods
