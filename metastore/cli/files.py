"""`metastore files`: the current files of a table."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from metastore.cli.client import connected_client
from metastore.cli.names import split_table
from metastore.cli.printing import printable
from metastore.domain.partition_names import value_path
from metastore.errors import ConfigurationError

_TIMEOUT = 120.0  # seconds: a plan of a million partitions takes some


def show_files(uri: str, name: str, where: str | None, form: str, *, rows: bool) -> None:
    """Prints the files that can have rows for which `where` is true: a line for each.

    `form`: `lines` has path, bytes, rows and partition with tabs between, `json` an object. Raises ConfigurationError
    without pyarrow, and the errors of `connected_client`.
    """
    try:
        from metastore.client.reading.table import files
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "pyarrow":
            raise
        raise ConfigurationError("files needs pyarrow. Run: pip install 'metastore[server,arrow]'") from None
    with connected_client(uri, _TIMEOUT) as client:
        for file in files(client, ".".join(split_table(name)), where, rows=rows):
            if form == "json":
                click.echo(json.dumps(asdict(file), ensure_ascii=False))
                continue
            partition = value_path(list(file.partition), list(file.partition.values()))
            cells = (file.path, str(file.bytes), "" if file.rows is None else str(file.rows), partition)
            click.echo("\t".join(map(printable, cells)))
