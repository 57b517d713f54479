"""The timer by which a server is known to be there."""

from __future__ import annotations

from typing import Final

from metastore.background.timer import Timer
from metastore.services.entry.servers import ServerService

_INTERVAL: Final = 10.0  # seconds; migrations.servers takes who was not seen for some times as long for gone


def server_registration(service: ServerService) -> Timer:
    return Timer("registering this server", service.renew, _INTERVAL)
