"""Imports from real metastores: MariaDB with Hive's schema scripts, Hive 2.3.10 and 4.0.1 on PostgreSQL."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.fixtures.server import connected, running
from tests.interop import mariadb as maria
from tests.interop.maven import UnavailableError
from tests.wire.importing.filling import fill
from tests.wire.importing.moving import compare, copy


@pytest.fixture(scope="module")
def mariadb() -> Iterator[tuple[Path, int]]:
    with tempfile.TemporaryDirectory() as name:
        try:
            with maria.mariadb(Path(name)) as port:
                yield Path(name), port
        except UnavailableError as error:
            pytest.skip(str(error))


@pytest.mark.parametrize("version", maria.SCRIPTS)
def test_a_source_on_mysql_comes_along(
    mariadb: tuple[Path, int], version: str, database_url: str, tmp_path: Path
) -> None:
    """UTF-8 texts in latin1 columns are read as what they are. The user may only read."""
    source = maria.hive_on_mariadb(*mariadb, version)
    fill(source, f"file:{tmp_path}/theirs", transactions=False)
    url = source.url.replace("root@", f"{maria.USER}:{quote(maria.PASSWORD, safe='')}@")
    before = source.content()
    state = copy(url, database_url)
    assert maria.PASSWORD not in state.source
    assert source.content() == before
    with running(database_url, tmp_path) as server:
        assert compare(url, server.uri) == []
        with connected(server) as client:
            plain = client.get_table("sales", "plain")
            assert plain.parameters["comment"] == "Größe"
            assert plain.sd.cols[0].comment == "größe"
            assert client.get_partition("sales", "logs", ["a/b:c", "7"]).sd.location == "hdfs://old:8020/logs"
