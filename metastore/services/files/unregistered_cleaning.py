"""Removes unregistered directories below a table's `_staging` and `_versions`: of older clients, or after a restore.
Also ends uploads to S3 that executors have begun and that nobody will complete.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta

from metastore.domain.query_ids import ids_in, is_registered_form
from metastore.errors import MetastoreError
from metastore.services.files.cleaned_directories import STAGING, cleaned, with_parents
from metastore.services.files.journal import Journal
from metastore.services.files.planning import Removal, plan_removal
from metastore.services.files.usage import unused, usage
from metastore.services.rules.tables import is_view
from metastore.warehouse import paths
from metastore.warehouse.filesystem import FileEntry, Upload
from thrift_idl.gen.metastore.ttypes import CleanedLocation

_REASON = "registered nowhere"
_NEVER_COMPLETED = "upload that was never completed"


class UnregisteredCleaning:
    """Cleans table by table. The age of a directory is that of its youngest file, by the file system's clock."""

    def __init__(self, journal: Journal) -> None:
        self._store = journal.store
        self._journal = journal
        self._warehouse = journal.warehouse

    def clean(self, table_id: int, grace: timedelta, *, dry_run: bool) -> list[CleanedLocation]:
        """Removes (`dry_run`: only lists) unregistered directories of a table that are older than the grace time."""
        root = ""
        try:
            with self._store.read() as work:
                stored = work.tables.find_ids([table_id])
            struct = stored[0].encoded.decode() if stored else None
            if struct is None or is_view(struct) or not struct.sd.location:
                return []
            root = paths.without_version(struct.sd.location)
            old = {text: files for text, files in self._unregistered(root) if _is_old(files, grace)}
            uploads = self._lost_uploads(root, grace)
            if not dry_run:
                self._remove(table_id, list(old), root)
                for upload in uploads:
                    self._warehouse.abort_upload(upload)
        except MetastoreError as error:
            return [cleaned(root, _REASON, None, error=str(error))]
        lost = [cleaned(upload.location, _NEVER_COMPLETED, None) for upload in uploads]
        return [_entry(location, files, root) for location, files in old.items()] + lost

    def _remove(self, table_id: int, locations: list[str], root: str) -> None:
        with self._store.transaction(audited=False) as work:
            work.file_operations.lock_exclusively()  # until the commit, no other call can begin to use one of them
            free = unused(work, locations)
            ids = plan_removal(work, self._warehouse, free, Removal(table_id=table_id))
        self._journal.carry_out_or_fail(ids)
        self._journal.remove_empty(with_parents(free, root))

    def _unregistered(self, root: str) -> Iterator[tuple[str, list[FileEntry]]]:
        """Yields unregistered directories of a table, and their files."""
        for folder in (STAGING, paths.VERSIONS):
            _, below = self._warehouse.children(paths.join(root, folder))
            with self._store.read() as work:
                known = work.dead_writes.known([paths.name(text) for text in below])
            for directory in below:
                if paths.name(directory) not in known:
                    yield from self._unused(directory)

    def _lost_uploads(self, root: str, grace: timedelta) -> list[Upload]:
        """Returns old uploads of executors that were lost by writes that have ended."""
        uploads = [
            (upload, id_)
            for upload in self._warehouse.unfinished_uploads(root)
            if upload.begun <= time.time() - grace.total_seconds()
            for id_ in ids_in(paths.name(upload.location))
        ]
        with self._store.read() as work:
            open_ids = work.dead_writes.known([id_ for _, id_ in uploads])
        return [upload for upload, id_ in uploads if id_ not in open_ids]

    def _unused(self, directory: str) -> Iterator[tuple[str, list[FileEntry]]]:
        """Yields the directory if it is unused, otherwise the highest unused directories in it."""
        with self._store.read() as work:
            use = usage(work, [directory])[directory]
        if use.itself:
            return
        if not use.below:
            yield directory, self._warehouse.files(directory)
            return
        for child in self._warehouse.children(directory)[1]:
            yield from self._unused(child)


def _is_old(files: list[FileEntry], grace: timedelta) -> bool:
    """Returns whether no file was modified within the grace time. A file without a time counts as young."""
    youngest = time.time() - grace.total_seconds()
    return not grace or all(file.modified is not None and file.modified < youngest for file in files)


def _entry(location: str, files: list[FileEntry], root: str) -> CleanedLocation:
    query_id = paths.canonical(location)[len(paths.canonical(root)) :].split("/")[2]
    return cleaned(location, _REASON, query_id if is_registered_form(query_id) else None, files)
