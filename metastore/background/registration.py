"""The timer that keeps this server in the list of servers on the database."""

from __future__ import annotations

from typing import Final

from metastore.background.timer import Timer
from metastore.services.entry.servers import ServerService

_INTERVAL: Final = 10.0  # seconds. migrations.servers ignores servers that were not seen for several intervals


def server_registration(service: ServerService) -> Timer:
    """Returns the timer."""
    return Timer("server registration", service.renew, _INTERVAL)
