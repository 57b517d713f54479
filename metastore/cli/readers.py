"""`metastore db reader`: roles that read the views of Hive's schema by SQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click
from sqlalchemy.engine import URL, make_url

from metastore.app.database import opened
from metastore.cli.printing import print_lines
from metastore.errors import ConfigurationError
from metastore.settings import Settings
from metastore.storage.postgres.engine import make_engine
from metastore.storage.postgres.readers import Readers
from migrations import runner

_HIDDEN: Final = "PASSWORD"

_TOOLS: Final = """
JDBC
  jdbc:postgresql://{address}/{database}?currentSchema=hive   user {name}

Hive, Databricks and other servers of Hive's metastore (hive-site.xml)
  javax.jdo.option.ConnectionURL=jdbc:postgresql://{address}/{database}?currentSchema=hive&stringtype=unspecified
  javax.jdo.option.ConnectionDriverName=org.postgresql.Driver
  javax.jdo.option.ConnectionUserName={name}
  javax.jdo.option.ConnectionPassword={password}
  datanucleus.schema.autoCreateAll=false

Amundsen (databuilder, HiveTableMetadataExtractor)
  extractor.sqlalchemy.conn_string: {url}

OpenMetadata (service of type Hive, Metastore Connection: Postgres)
  username: {name}   authType.password: {password}   hostPort: {address}   database: {database}

DataHub (recipe, source type hive-metastore)
  host_port: {address}   database: {database}   username: {name}   password: {password}   scheme: postgresql+psycopg2

Airflow (connection for MetastorePartitionSensor, with PostgreSQL's hook)
  AIRFLOW_CONN_METASTORE_DEFAULT={url}
"""


def add(settings: Settings, name: str, password_file: Path | None) -> str:
    """Creates a reader. Prints a warning if it can do more than read. Returns its password, if it was generated, and
    the settings of tools.
    """
    given = _password(password_file) if password_file else None
    with _readers(settings) as (readers, url):
        generated = readers.add(name, given)
        excess = readers.excess()
    if excess:
        click.echo(f"metastore: warning: {excess}", err=True)
    if generated:
        said = f"Reader {name} created. Its password, which is shown only now: {generated}"
    elif given:
        said = f"Reader {name} has the password of {password_file}."
    else:
        said = f"The role {name} existed, and keeps its password. It can read the views of this database."
    return f"{said}\n{_tools(url, name)}"


def remove(settings: Settings, name: str) -> str:
    """Removes a reader. Returns a confirmation."""
    with _readers(settings) as (readers, _):
        dropped = readers.remove(name)
    rest = "" if dropped else " The role stays: it has rights on other objects of the PostgreSQL server."
    return f"Reader {name} removed.{rest}"


def show(settings: Settings) -> None:
    """Prints the names of the readers, one per line."""
    with _readers(settings) as (readers, _):
        names = readers.names()
    print_lines(("reader",), ((name,) for name in names), str)


@contextmanager
def _readers(settings: Settings) -> Iterator[tuple[Readers, URL]]:
    with opened(settings, make=False) as (url, embedded):
        if embedded is not None:
            raise ConfigurationError(
                "The embedded PostgreSQL accepts no connections from other programs. Move to a PostgreSQL server: "
                "metastore db backup, metastore db restore, and --database-url"
            )
        runner.check(url)
        engine = make_engine(settings, url)
        try:
            yield Readers(engine), make_url(url)
        finally:
            engine.dispose()


def _password(file: Path) -> str:
    try:
        password = file.read_text().partition("\n")[0].rstrip("\r")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"The password file {file} cannot be read: {error}") from error
    if not password:
        raise ConfigurationError(f"The first line of the password file {file} is empty.")
    return password


def _tools(url: URL, name: str) -> str:
    address = f"{url.host or 'HOST'}:{url.port or 5432}"
    reader = URL.create("postgresql", name, _HIDDEN, url.host or "HOST", url.port or 5432, url.database)
    shown = reader.render_as_string(hide_password=False).replace(" ", "%20")  # which SQLAlchemy leaves as it is
    return _TOOLS.format(address=address, database=url.database, name=name, password=_HIDDEN, url=shown).rstrip()
