"""The timer that writes the entries of the audit trail to the log."""

from __future__ import annotations

from typing import Final

from metastore.background.timer import Timer
from metastore.services.entry.audit import AuditService

_INTERVAL: Final = 0.5  # seconds


def audit_logging(service: AuditService) -> Timer:
    """Returns the timer. It runs in every worker; the service lets one worker of all servers do the work."""
    return Timer("audit logging", service.tell, _INTERVAL)


def audit_writing(service: AuditService) -> Timer:
    """Returns the timer that writes the waiting lines of this worker: failed logins, calls about hidden objects."""
    return Timer("audit writing", service.write_waiting, _INTERVAL)
