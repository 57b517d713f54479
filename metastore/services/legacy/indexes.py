"""Indexes of tables, as in Hive 2, which fills and reads them. `TableService` creates an index with its index table."""

from __future__ import annotations

from metastore.domain import events
from metastore.domain.names import TableName
from metastore.encoding.binary import EncodedList
from metastore.encoding.json import encode_json
from metastore.encoding.redaction import restore_secrets
from metastore.encoding.structs import shallow_copy
from metastore.errors import InvalidInputError, InvalidOperationError, NotFoundError
from metastore.services.files.change_loop import Attempt
from metastore.services.rules.indexes import tables_of, timed
from metastore.services.rules.lookup import required
from metastore.services.service import ChangingService
from metastore.storage.unit_of_work import UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import Index


class IndexService(ChangingService):
    """Rules of indexes. Names are in lower case."""

    def get(self, table: TableName, name: str) -> Index:
        """Reads an index. Raises NotFoundError."""
        with self._store.read() as work:
            return required(next(iter(work.indexes.select(table, name).decode()), None), _missing(table, name))

    def select(self, table: TableName) -> EncodedList[Index]:
        """Lists the indexes of a table. As in Hive, the list is empty if the table does not exist."""
        with self._store.read() as work:
            return work.indexes.select(table)

    def names(self, table: TableName) -> list[str]:
        """Lists the names of a table's indexes, ascending."""
        with self._store.read() as work:
            return work.indexes.names(table)

    def alter(self, table: TableName, name: str, new: Index) -> None:
        """Replaces the parameters of an index. As in Hive, nothing else changes.

        Raises InvalidInputError if the index does not exist, InvalidOperationError if the new one is malformed.
        """
        timed(new, self._clock())
        with self._store.transaction() as work:
            stored = work.tables.find(table, lock="change")
            indexes = work.indexes.select(table, name).decode()
            if stored is None or not indexes:
                raise InvalidInputError(str(_missing(table, name)))
            _check_changed(work, new)
            (index,) = indexes
            before = shallow_copy(index)
            restore_secrets(new.parameters, index.parameters)
            index.parameters = new.parameters
            work.indexes.update(stored.ref.id, index)
            work.record(events.alter_index(table.parent, encode_json(before), encode_json(new)))

    def drop(self, table: TableName, name: str, *, delete_data: bool) -> None:
        """Drops an index and the table that holds it.

        Raises NotFoundError, InvalidOperationError if that table is in use.
        """

        def plan(work: UnitOfWork, _: Attempt) -> list[int]:
            stored = work.tables.find(table, lock="change")
            indexes = work.indexes.about(stored.ref.id) if stored else []
            holders = [index.held_in_id for index in indexes if (index.table, index.name) == (table, name)]
            if not holders:
                raise _missing(table, name)
            (holder,) = work.tables.find_ids(holders, lock=True)
            return self._dropping.drop(work, holder, delete_data=delete_data, with_its_index=True)

        self._journal.carry_out(self._loop.change(plan))


def _missing(table: TableName, name: str) -> NotFoundError:
    return NotFoundError(f"{table.database}.{table.name} index={name} not found")


def _check_changed(work: UnitOfWork, new: Index) -> None:
    if new.sd is None:
        raise InvalidOperationError("Storage descriptor is not defined for index.")
    names = tables_of(new)
    if work.tables.reference(names.indexed) is None:
        raise InvalidOperationError("Original table does not exist for the given index.")
    if work.tables.reference(names.holder) is None:
        raise InvalidOperationError("Underlying index table does not exist for the given index.")
