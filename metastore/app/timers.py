"""The timers of a worker: each calls a service at an interval. Concurrent workers share the work."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from metastore.app.timer import Timer
from metastore.services.audit import AuditService
from metastore.services.cleaning import CleaningService
from metastore.services.descriptor_cleaning import DescriptorCleaningService
from metastore.services.files.journal import Journal
from metastore.services.files.late_files import LateFiles
from metastore.services.notifications import NotificationService
from metastore.services.scan_recording import ScanRecorder
from metastore.services.servers import ServerService
from metastore.services.sizes import SizeService
from metastore.services.timeouts import TimeoutService
from metastore.services.undrop import UndropService
from metastore.services.view_texts import ViewTextService

# Intervals are in seconds.
AUDIT_INTERVAL: Final = 0.5
FIRST_COMPARISON: Final = 0.1
LEASE_RENEWAL: Final = 20.0  # a third of a lease of a file operation
MEASUREMENT_INTERVAL: Final = 3.0
LATE_INTERVAL: Final = 10.0
RECOVERY_INTERVAL: Final = 10.0
VIEW_INTERVAL: Final = 5.0
REGISTRATION_INTERVAL: Final = 10.0  # migrations.servers ignores servers that were not seen for several intervals
_RUNS: Final = 10  # runs within one timeout or retention
_MIN_INTERVAL: Final = 1.0
_MAX_INTERVAL: Final = 3600.0
_MOVES_INTERVAL: Final = 3600.0
_MOVES_MARGIN: Final = timedelta(days=1)


def audit_logging(service: AuditService) -> Timer:
    """Returns the timer that writes the entries of the audit trail to the log. One worker of all servers does it."""
    return Timer("audit logging", service.tell, AUDIT_INTERVAL)


def audit_writing(service: AuditService) -> Timer:
    """Returns the timer that writes the waiting lines of this worker: failed logins, calls about hidden objects."""
    return Timer("audit writing", service.write_waiting, AUDIT_INTERVAL)


def warehouse_cleaning(service: CleaningService, interval: float) -> Timer:
    """Returns the timer that removes unreferenced files every `interval` seconds."""
    return Timer("warehouse cleaning", service.run, interval)


def late_file_moving(files: LateFiles) -> Timer:
    """Returns the timer that moves files that come late to the former directories of rewritten rows."""
    return Timer("moving of late files", files.look, LATE_INTERVAL)


def event_cleaning(service: NotificationService, retention: float) -> Timer:
    """Returns the timer that removes events older than `retention` seconds."""
    interval = min(max(retention / _RUNS, _MIN_INTERVAL), _MAX_INTERVAL)
    return Timer("notification log cleaning", service.clean, interval)


def descriptor_cleaning(service: DescriptorCleaningService, interval: float) -> Timer:
    """Returns the timer that removes descriptors without a table or partition."""
    return Timer("descriptor cleaning", service.run, interval)


def expiry(service: TimeoutService, timeout: timedelta) -> Timer:
    """Returns the timer that ends transactions, locks and writes without a heartbeat, ten times within `timeout`."""
    return Timer("expiry", service.run, max(timeout.total_seconds() / _RUNS, _MIN_INTERVAL))


def journal_recovery(journal: Journal) -> Timer:
    """Returns the timer that completes file operations of dead workers."""
    return Timer("file operation recovery", journal.recover, RECOVERY_INTERVAL)


def lease_renewal(journal: Journal) -> Timer:
    """Returns the timer that renews the leases of this worker's own file operations."""
    return Timer("file operation lease renewal", journal.renew, LEASE_RENEWAL)


def witness_writing(journal: Journal) -> Timer:
    """Returns the timer that compares the state of the catalog with its record in the warehouse (the witness), and
    updates the record.
    """
    return Timer("catalog witness", journal.lineage.note, RECOVERY_INTERVAL)


def first_comparison(journal: Journal) -> Timer:
    """Returns the timer that makes the first comparison, when the server starts."""
    return Timer("first comparison with the witness", journal.lineage.note, FIRST_COMPARISON, once=True)


def move_forgetting(journal: Journal, retention: timedelta) -> Timer:
    """Returns the timer that deletes old parts of the log of moves: a restore of the database to an older moment needs
    the log as long as dropped files.
    """
    return Timer("forgetting of old moves", lambda: journal.forget_moves(retention + _MOVES_MARGIN), _MOVES_INTERVAL)


def drop_purging(undrop: UndropService) -> Timer:
    """Returns the timer that purges dropped objects after their retention. The next recovery deletes their files."""
    return Timer("purge of dropped objects", undrop.purge, RECOVERY_INTERVAL)


def server_registration(service: ServerService) -> Timer:
    """Returns the timer that keeps this server in the list of servers on the database."""
    return Timer("server registration", service.renew, REGISTRATION_INTERVAL)


def size_measurement(service: SizeService) -> Timer:
    """Returns the timer that measures tables."""
    return Timer("measurement of tables", service.measure, MEASUREMENT_INTERVAL)


def view_reading(service: ViewTextService) -> Timer:
    """Returns the timer that reads the texts of views for the tables that they name."""
    return Timer("reading the texts of views", service.read, VIEW_INTERVAL)


def scan_recording(recorder: ScanRecorder, interval: float) -> Timer:
    """Returns the timer that adds the scans of this worker to the record every `interval` seconds."""
    return Timer("recording of scans", recorder.flush, interval)
