"""Removing what no write registered: below a table's _staging and _versions, of older clients or a lost database."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta

from metastore.domain.query_ids import is_registered_form
from metastore.errors import MetastoreError
from metastore.services.files.change_loop import FileService
from metastore.services.files.cleaned_directories import STAGING, cleaned, with_parents
from metastore.services.files.planning import plan_removal
from metastore.services.files.usage import unused, usage
from metastore.services.rules.tables import is_view
from metastore.warehouse import paths
from metastore.warehouse.filesystem import FileEntry
from thrift_idl.gen.metastore.ttypes import CleanedLocation

_REASON = "registered nowhere"


class UnregisteredCleaning(FileService):
    """Looks for them, table by table. Only the file system knows how old they are, so its clock counts."""

    def clean(self, table_id: int, grace: timedelta, *, dry_run: bool) -> list[CleanedLocation]:
        """Returns what was, or would be, removed of one table."""
        root = ""
        try:
            with self._store.read() as work:
                stored = work.tables.find_ids([table_id])
            struct = stored[0].encoded.decode() if stored else None
            if struct is None or is_view(struct) or not struct.sd.location:
                return []
            root = paths.without_version(struct.sd.location)
            places = {text: files for text, files in self._found(root) if _is_old(files, grace)}
            if not dry_run:
                self._remove(table_id, list(places), root)
        except MetastoreError as error:
            return [cleaned(root, _REASON, None, error=str(error))]
        return [_entry(place, files, root) for place, files in places.items()]

    def _remove(self, table_id: int, places: list[str], root: str) -> None:
        with self._store.transaction(audited=False) as work:
            work.file_operations.lock_exclusively()  # who refers to one from now on waits until it is gone
            free = unused(work, places)
            ids = plan_removal(work, self._warehouse, free, table_id=table_id)
        self._carry_out_or_fail(ids)
        self._journal.remove_empty(with_parents(free, root))

    def _found(self, root: str) -> Iterator[tuple[str, list[FileEntry]]]:
        for folder in (STAGING, paths.VERSIONS):
            _, below = self._warehouse.children(paths.join(root, folder))
            with self._store.read() as work:
                known = work.dead_writes.known([paths.name(text) for text in below])
            for place in below:
                if paths.name(place) not in known:
                    yield from self._unused(place)

    def _unused(self, place: str) -> Iterator[tuple[str, list[FileEntry]]]:
        """Returns the place itself, or those in it to which nothing refers, as far up as possible."""
        with self._store.read() as work:
            use = usage(work, [place])[place]
        if use.itself:
            return
        if not use.below:
            yield place, self._warehouse.files(place)
            return
        for child in self._warehouse.children(place)[1]:
            yield from self._unused(child)


def _is_old(files: list[FileEntry], grace: timedelta) -> bool:
    """Tells whether nothing in it was changed within the grace time; what has no time is young, unless there is no
    grace."""
    youngest = time.time() - grace.total_seconds()
    return not grace or all(file.modified is not None and file.modified < youngest for file in files)


def _entry(place: str, files: list[FileEntry], root: str) -> CleanedLocation:
    query_id = paths.canonical(place)[len(paths.canonical(root)) :].split("/")[2]
    return cleaned(place, _REASON, query_id if is_registered_form(query_id) else None, files)
