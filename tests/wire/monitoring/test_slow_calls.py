"""The log line of a slow call names the statement that took the time."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from sqlalchemy import create_engine, text

from tests.fixtures.server import Server, connected
from tests.wire.builders import new_table

LOCK_TIMEOUT = 1.5  # seconds


def test_the_statement_that_waited_is_logged_and_waits_for_one_lock_timeout(
    start_metastore: Callable[..., Server], database_url: str
) -> None:
    server = start_metastore(database_url, "--lock-timeout", f"{LOCK_TIMEOUT}s", "--slow-call-threshold", "0.5s")
    engine = create_engine(database_url)
    with connected(server) as client:
        database, name = new_table(client)
        changed = client.get_table(database, name)
        changed.parameters["changed"] = "yes"
        with engine.begin() as holder:
            holder.execute(text("SELECT * FROM tables FOR UPDATE"))
            with pytest.raises(Exception, match="locked by another transaction"):
                client.alter_table(database, name, changed)
    engine.dispose()
    line = re.search(r"alter_table \S+ ([\d.]+) ms .*outcome=unavailable .*sql=(.*)", server.log.read_text())
    assert line
    assert "find_table_to_change" in line[2]
    assert "ROLLBACK" not in line[2].partition(":")[0]
    assert float(line[1]) >= LOCK_TIMEOUT * 1000
