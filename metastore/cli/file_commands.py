"""The commands for tables and their files."""

from __future__ import annotations

import click

from metastore.cli.options import DURATION, formats, uri_option


@click.command()
@click.argument("name", metavar="DATABASE.TABLE")
@uri_option
def protect(name: str, uri: str) -> None:
    """Protect a table against drops and truncations.

    The server rejects drops and truncations of the table, and drops of its partitions and of its database.
    """
    from metastore.cli.protect import protect as run_protect

    click.echo(run_protect(uri, name, wanted=True))


@click.command()
@click.argument("name", metavar="DATABASE.TABLE")
@uri_option
def unprotect(name: str, uri: str) -> None:
    """Allow drops of a protected table again."""
    from metastore.cli.protect import protect as run_protect

    click.echo(run_protect(uri, name, wanted=False))


@click.command()
@click.argument("name", metavar="DATABASE.TABLE")
@click.option(
    "--where", metavar="FILTER", help="Only files that can have matching rows: \"ds = '2026-01-05' AND n > 3\"."
)
@click.option("--rows", is_flag=True, help="Count the rows of each file, from the footers of Parquet and ORC files.")
@click.option("--format", "form", type=click.Choice(["lines", "json"]), default="lines", show_default=True)
@uri_option
def files(name: str, where: str | None, form: str, uri: str, *, rows: bool) -> None:
    """List the current files of a table.

    Prints path, bytes, rows and partition of each published file. Files of writes that are not published and replaced
    files are left out. Needs the package pyarrow.
    """
    from metastore.cli.files import show_files

    show_files(uri, name, where, form, rows=rows)


@click.command()
@click.argument("name", metavar="[DATABASE[.TABLE]]", default="")
@uri_option
@formats()
def dropped(name: str, uri: str) -> None:
    """List what can be restored with `metastore undrop`.

    Lists dropped, truncated and overwritten objects.
    """
    from metastore.cli.undrop import show_dropped

    click.echo(show_dropped(uri, name), err=True)


@click.command()
@click.argument("name", metavar="DATABASE[.TABLE[@SPEC]]")
@click.option("--as", "new_name", metavar="NAME", help="New name for the table, if its old name is in use.")
@click.option(
    "--number",
    type=click.IntRange(1, 2**63 - 1),
    help="Number of the drop, from `metastore dropped`. Default: the newest drop of this name.",
)
@uri_option
def undrop(name: str, new_name: str | None, number: int | None, uri: str) -> None:
    """Restore a database, a table or partitions (@ds=1).

    Restores what was dropped, truncated or overwritten.
    """
    from metastore.cli.undrop import undrop as run_undrop

    click.echo(run_undrop(uri, name, new_name, number))


@click.command()
@click.argument("name", metavar="DATABASE.TABLE")
@click.option("--at", metavar="TIME", help="Show the definition at this time: 2026-01-31T23:59:59, in UTC.")
@uri_option
@formats()
def history(name: str, at: str | None, uri: str) -> None:
    """Show the changes of a table.

    The list reaches as far back as the notification log.
    """
    from metastore.cli.history import history as run_history

    click.echo(run_history(uri, name, at), err=True)


@click.command()
@click.argument("name", metavar="[DATABASE[.TABLE]]", default="")
@click.option("--type", "types", metavar="TYPE", multiple=True, help="Only events of this type, such as ADD_PARTITION.")
@click.option(
    "--after",
    type=click.IntRange(0),
    help="Number of the last event that you have read. Default: all stored events; with --follow, new ones.",
)
@click.option("--follow", is_flag=True, help="Wait for more events until Ctrl-C.")
@click.option("--details", is_flag=True, help="With --format json: Hive's messages, too, with the changed objects.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["lines", "json"]),
    default="lines",
    show_default=True,
    help="lines: number, time, type, object and partitions, separated by tabs. json: one JSON object per line.",
)
@uri_option
def events(
    name: str, types: tuple[str, ...], after: int | None, follow: bool, details: bool, form: str, uri: str
) -> None:
    """Print the changes of all objects, or of a database or table.

    A line of the type MISSED stands for events that the server no longer has. Events of objects that you may not see
    are left out.
    """
    from metastore.cli.event_log import show_events

    show_events(uri, name, types, after, follow=follow, details=details, form=form)


@click.command()
@click.argument("name", metavar="[DATABASE[.TABLE]]", default="")
@click.option(
    "--repair",
    is_flag=True,
    help="Repair problems whose repair cannot lose data or hide a loss of data: missing directories of "
    "databases, empty directories without an owner, unfinished file operations.",
)
@click.option(
    "--rows", is_flag=True, help="Also read all rows of a table with Spark, and check that each is in its bucket."
)
@click.option("--master", default="local[*]", show_default=True, help="Spark's master, for --rows.")
@uri_option
@formats("locations", "buckets")
def check(name: str, repair: bool, rows: bool, master: str, uri: str) -> int:
    """Compare the catalog with the files.

    Also checks the files of bucketed tables. The exit status is 1 if problems remain.
    """
    from metastore.cli.check import check as run_check

    status, summary = run_check(uri, name, rows=rows, repair=repair, master=master)
    click.echo(summary, err=True)
    return status


@click.command()
@click.argument("name", metavar="[DATABASE[.TABLE]]", default="")
@click.option("--dry-run", is_flag=True, help="List the files that would be removed, but remove nothing.")
@click.option(
    "--grace",
    type=DURATION,
    help="Keep replaced files for this time. Default: the server's METASTORE_REPLACED_FILE_RETENTION.",
)
@click.option(
    "--unregistered",
    is_flag=True,
    help="Also remove files without a registered write. They remain after writes of older clients and after the loss "
    "of a database.",
)
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
@uri_option
def clean(name: str, dry_run: bool, grace: float | None, unregistered: bool, form: str, uri: str) -> None:
    """Remove replaced files and roll back failed writes.

    Works on one table, one database or all.
    """
    from metastore.cli.clean import clean as run_clean

    summary = run_clean(uri, name, dry_run=dry_run, grace=grace, unregistered=unregistered, form=form)
    if summary:
        click.echo(summary, err=True)
