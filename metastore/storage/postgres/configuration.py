"""The configuration of the embedded PostgreSQL."""

from __future__ import annotations

from typing import Final

from metastore.machine import postgres_buffers

# After a crash, PostgreSQL by default syncs every file one by one, which takes seconds; syncfs is fast. The default of
# 1 GB of write-ahead log takes many seconds to replay after a crash, so checkpoints are frequent; they are not logged,
# nor are the texts of failed statements, which hold values.
_SETTINGS: Final = {
    "recovery_init_sync_method": "syncfs",
    "max_wal_size": "64MB",
    "log_checkpoints": "off",
    "checkpoint_warning": "0",
    "log_min_error_statement": "panic",
}
_LOG_SHARE: Final = 8  # the buffers of the write-ahead log take one eighth of the shared buffers


def configuration(connections: int) -> str:
    """Returns the text of the configuration file. `connections`: the most connections of all clients.

    The buffers fit the machine or container. PostgreSQL's defaults (128 MB, and 4 MB for the log) fill up when a
    hundred thousand rows are written at once, which then wait for the disk.
    """
    buffers = postgres_buffers() // 1024
    sizes = {"shared_buffers": f"{buffers}kB", "wal_buffers": f"{buffers // _LOG_SHARE}kB"}
    settings = {"max_connections": connections, **sizes, **_SETTINGS}
    return "".join(f"{name} = {value}\n" for name, value in settings.items())
