"""A receiver of webhooks, and the setting of a sink that sends to it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from metastore.cli.commands import run as run_command
from metastore.services.sinks import SinkAdministration
from metastore.settings import Settings
from metastore.storage.postgres.engine import make_engine
from metastore.storage.unit_of_work import Store
from tests.fixtures.database import execute
from tests.fixtures.receiver import SECRET, Receiver, receiving

Command = Callable[..., str]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as started:
        yield started


@pytest.fixture
def secret_file(tmp_path: Path) -> Path:
    file = tmp_path / "secret"
    file.write_text(f"{SECRET}\n")
    return file


@pytest.fixture
def hook(receiver: Receiver, secret_file: Path) -> Callable[[str], str]:
    """Returns the value of METASTORE_SINKS, with further options."""
    return lambda options="": f"hook={receiver.url}#secret_file={secret_file}{options}"


@pytest.fixture
def copied(postgres_url: str, drop_database: Callable[[str], None]) -> Iterator[Callable[[str], str]]:
    """Copies a database that nobody uses, as a backup of this moment. Returns its URL."""
    copies: list[str] = []

    def copy(url: str) -> str:
        name = f"metastore_test_{uuid.uuid4().hex}"
        execute(postgres_url, f"CREATE DATABASE {name} TEMPLATE {make_url(url).database}")
        copies.append(make_url(postgres_url).set(database=name).render_as_string(hide_password=False))
        return copies[-1]

    yield copy
    for each in copies:
        drop_database(each)


@pytest.fixture
def sinks(database_url: str) -> Iterator[SinkAdministration]:
    """What `metastore sinks` does, on the database of the test."""
    settings = Settings(database_url=database_url, warehouse="/w")
    store = Store(make_engine(settings, database_url, size=1), settings)
    yield SinkAdministration(store)
    store.close()


@pytest.fixture
def command(database_url: str, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs `metastore sinks` on the database of the test, and returns its output, or its error."""

    def run(*arguments: str, status: int = 0) -> str:
        capsys.readouterr()
        assert run_command(["sinks", *arguments, "--database-url", database_url]) == status
        printed = capsys.readouterr()
        return printed.err if status else printed.out

    return run
