"""The services that several handlers, timers or tests share."""

from __future__ import annotations

from datetime import timedelta

from metastore.services.authorization.authorization import Authorization
from metastore.services.cascade.retention import Retention
from metastore.services.cleaning import CleaningService
from metastore.services.databases import DatabaseService
from metastore.services.files.journal import Journal
from metastore.services.notifications import NotificationService
from metastore.services.partitions_read import PartitionReadService
from metastore.services.scan_recording import ScanRecorder
from metastore.services.service import current_time
from metastore.services.tables import TableService
from metastore.services.undrop import UndropService
from metastore.settings import Settings


class Services:
    """`changing`: the arguments of services that change objects with their files."""

    def __init__(self, settings: Settings, journal: Journal, rights: Authorization) -> None:
        self.store, self.journal, self.rights = journal.store, journal, rights
        self.changing = journal, current_time, Retention(timedelta(seconds=settings.drop_retention))
        self.databases = DatabaseService(*self.changing)
        self.tables = TableService(*self.changing, rights)
        self.partitions = PartitionReadService(self.store)
        self.undrop = UndropService(journal, rights)
        kept = 0.0 if settings.read_only else settings.scan_record_retention
        self.scan_recorder = ScanRecorder(self.store, kept, literals=settings.scan_record_values)
        most_bytes = settings.memory_limit // 4  # of events in one reply
        self.notifications = NotificationService(self.store, settings.event_retention, rights, most_bytes)
        self.cleaning = CleaningService(journal, timedelta(seconds=settings.replaced_file_retention), rights)
