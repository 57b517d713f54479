"""Handlers of partition events."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from metastore.domain.privileges import Right
from metastore.errors import InvalidInputError, InvalidObjectError, NotFoundError
from metastore.handlers.arguments import table_name
from metastore.operations.fields import TableFields
from metastore.operations.operation import any_of, change, operation, visible
from metastore.services.legacy.partition_events import PartitionEventService
from thrift_idl.gen.hive_metastore.ttypes import InvalidPartitionException, UnknownTableException

_TABLE = TableFields("db_name", "tbl_name")


class PartitionEventHandlers:
    """`markPartitionForEvent`, `isPartitionMarkedForEvent`."""

    def __init__(self, events: PartitionEventService) -> None:
        self._events = events

    @change(_TABLE, any_of(Right.INSERT, Right.ALTER))
    def markPartitionForEvent(self, database: str, table: str, values: dict[str, str], kind: int) -> None:  # noqa: N802 - the wire's name
        with _partition_exceptions():
            self._events.mark(table_name(database, table), values, kind)

    @operation(_TABLE, visible)
    def isPartitionMarkedForEvent(self, database: str, table: str, values: dict[str, str], kind: int) -> bool:  # noqa: N802 - the wire's name
        with _partition_exceptions():
            return self._events.is_marked(table_name(database, table), values, kind)


@contextmanager
def _partition_exceptions() -> Iterator[None]:
    """Raises the exceptions that only these two methods declare, as Hive does."""
    try:
        yield
    except NotFoundError as error:
        raise UnknownTableException(str(error)) from None
    except (InvalidInputError, InvalidObjectError) as error:
        raise InvalidPartitionException(str(error)) from None
