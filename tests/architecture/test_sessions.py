"""The client uses the session of its caller. A thread's active session may belong to another user of the driver."""

from __future__ import annotations

import re
from pathlib import Path

import spark_client

CLIENT = Path(spark_client.__file__).parent
ACTIVE_SESSION = re.compile(r"getActiveSession|getDefaultSession|SparkSession\W+active\(")


def test_the_client_never_takes_the_active_session() -> None:
    sources = [*CLIENT.rglob("*.py"), *CLIENT.rglob("*.java")]
    assert len(sources) > 100
    assert [path.name for path in sources if ACTIVE_SESSION.search(path.read_text())] == []
