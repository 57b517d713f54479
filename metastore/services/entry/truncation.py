"""Truncating a table or some of its partitions: the files go, directories and metadata stay, statistics say zero."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from metastore.domain.column_statistics import ACCURATE, COUNTS
from metastore.domain.names import TableName
from metastore.errors import InvalidOperationError
from metastore.services.cascade.dropping import ChangingService
from metastore.services.files.changed_objects import ChangedObjects, Owner
from metastore.services.files.cleaned_directories import OWN_DIRECTORIES
from metastore.services.files.planning import UnseenError, plan_truncation
from metastore.services.rules.lookup import get_table
from metastore.services.rules.table_data import check_unprotected, directories, owns_data
from metastore.storage.references import StoredTable
from metastore.storage.repositories.drops import TRUNCATED
from metastore.storage.repositories.partitions import named
from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse import paths


class TruncationService(ChangingService):
    """Rules of TRUNCATE (Hive's HMSHandler and, for what is refused, its TruncateTableAnalyzer)."""

    def truncate(
        self, name: TableName, partitions: Sequence[str] | None, *, delete_data: bool = True, purge: bool = False
    ) -> None:
        """Truncates the named partitions; with None, the whole table. Names come folded, but those of partitions.

        It can be taken back, but where `purge` says that it cannot.

        What is in the directories at that moment goes after the commit; what comes later stays.

        Raises:
            NotFoundError: the table or one of the partitions is missing; nothing was deleted.
            InvalidOperationError: a view, or an external table whose files are not the metastore's to delete.
            UnavailableError: files cannot be deleted now; it is tried again in the background.
        """
        inside: dict[str, list[str]] = {}

        def look(places: Sequence[str]) -> None:
            inside.update({place: self._inside(place) for place in places})

        action = partial(self._truncate, name, partitions, inside if delete_data else None, purge)
        self._finish(self._journal.attempt(action, look))

    def _truncate(
        self,
        name: TableName,
        partitions: Sequence[str] | None,
        inside: Mapping[str, Sequence[str]] | None,
        purge: bool,
        _: object,
    ) -> list[int]:
        """`inside`: what is in directories; None: all of it stays."""
        with self._store.transaction() as work:
            stored = get_table(work, name, lock="change")
            table = stored.encoded.decode()
            check_unprotected(table)
            if not owns_data(table):
                raise InvalidOperationError(
                    f"Cannot truncate non-managed table {name}: it is a view, or an external table without "
                    "external.table.purge=true"
                )
            chosen = None
            if partitions is not None or table.partitionKeys:  # as in Hive, those that are not there are passed over
                wanted = None if partitions is None else named(partitions)
                chosen = work.partitions.select_stored(stored.ref, wanted, lock=True)
            owners = ChangedObjects(work, stored, chosen)
            doomed = [place for one in owners.structs for place in directories(one.sd)] if inside is not None else []
            self._check_alone(work, stored, doomed, owners.partition_ids)
            if inside is not None and (unknown := [text for text in doomed if text not in inside]):
                raise UnseenError(unknown)
            drop_id = self._retention.begin(work, TRUNCATED, name, stored, purge=purge, partitions=len(chosen or ()))
            if drop_id is not None:
                work.drops.keep(drop_id, stored.ref.id, owners.partition_ids)
            for struct in owners.structs:
                _empty(struct)
            owners.write(truncated=True)
            return plan_truncation(work, {text: inside[text] for text in doomed if inside}, stored.ref.id, drop_id)

    def _inside(self, place: str) -> list[str]:
        """Lists what lies in there, but for what writers have: they publish, or fail, as if they came later."""
        files, folders = self._warehouse.children(place)
        there = [*(file.location for file in files), *folders]
        return [paths.canonical(text) for text in there if paths.name(text) not in OWN_DIRECTORIES]

    def _check_alone(
        self, work: UnitOfWork, stored: StoredTable, places: Sequence[str], partition_ids: Sequence[int] | None
    ) -> None:
        """Raises InvalidOperationError where others' files would go, too."""
        for place in places:
            self._warehouse.roots.require_below(place)
        leading = self._warehouse.roots.canonical(places)
        used = work.locations.others([*places, *leading.values()], stored.ref.id, partition_ids)
        if used:
            raise InvalidOperationError(f"Cannot truncate {stored.ref.name}: other objects lie in {next(iter(used))}")


def _empty(owner: Owner) -> None:
    """Makes Hive's statistics of a table or partition say zero, and leaves no skewed value a directory."""
    owner.parameters |= {name: "0" for name in COUNTS if name in owner.parameters}
    owner.parameters[ACCURATE] = '{"BASIC_STATS":"true"}'
    owner.sd.skewedInfo.skewedColValueLocationMaps = {}
