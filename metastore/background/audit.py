"""The timer that writes the entries of the audit trail to the log."""

from __future__ import annotations

from typing import Final

from metastore.background.timer import Timer
from metastore.services.entry.audit import AuditService, FailedLogins

_INTERVAL: Final = 0.5  # seconds


def audit_logging(service: AuditService) -> Timer:
    """Returns the timer. It runs in every worker; the service lets one worker of all servers do the work."""
    return Timer("audit logging", service.tell, _INTERVAL)


def failed_login_audit(logins: FailedLogins) -> Timer:
    """Returns the timer that writes failed logins of this worker to the audit trail."""
    return Timer("audit of failed logins", logins.write, _INTERVAL)
