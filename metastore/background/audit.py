"""The timer that writes the audit trail's lines to the log."""

from __future__ import annotations

from typing import Final

from metastore.background.timer import Timer
from metastore.services.entry.audit import AuditService

_INTERVAL: Final = 0.5  # seconds


def audit_logging(service: AuditService) -> Timer:
    """Makes the timer; one worker at a time, of all servers, does the work."""
    return Timer("telling the audit trail", service.tell, _INTERVAL)
