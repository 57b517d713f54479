"""The commands and the receiver of the page on sending events run as printed."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from metastore.domain.sinks import parse_sinks
from tests.fixtures.installed_postgres import free_port
from tests.fixtures.server import Server, connected
from tests.wire.builders import new_table, partition

PAGE = (Path(__file__).parents[3] / "docs" / "how-to" / "send-events.md").read_text()


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_webhook_of_the_page_works(
    tmp_path: Path, start_metastore: Callable[..., Server], database_url: str
) -> None:
    subprocess.run(["sh", "-e", "-c", blocks("sh")[0]], cwd=tmp_path, check=True)
    port = free_port()
    (code,) = blocks("python")
    receiver = subprocess.Popen(
        [sys.executable, "-c", code.replace("8000", str(port))], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    try:
        (sink,) = re.findall(r'--sinks "(.+?)"', blocks("sh")[1])
        sink = sink.replace("8000", str(port)).replace("=hook.secret", f"={tmp_path}/hook.secret")
        server = start_metastore(database_url, "--sinks", sink)
        assert receiver.stdout
        with connected(server) as client:
            database, name = new_table(client, [("ds", "string")])
            client.add_partition(partition(database, name, ["2026-01-05"]))
            expected = f"metastore.add_partition {database}.{name} [{{'ds': '2026-01-05'}}]\n"
            while receiver.stdout.readline() != expected:
                pass
    finally:
        receiver.kill()
        receiver.wait()
        if receiver.stdout:
            receiver.stdout.close()


def test_the_settings_of_the_page_are_valid() -> None:
    (exported,) = re.findall(r'METASTORE_SINKS="(.+?)"', PAGE)
    listed = re.findall(r'^    "(.+)",$', blocks("toml")[0], re.MULTILINE)
    names = [sink.name for text in (exported, " ".join(listed)) for sink in parse_sinks(text)]
    assert names == ["bus", "sales", "bus"]
