"""The commands that look after tables and their files: `metastore` has them."""

from __future__ import annotations

import click

from metastore.cli.options import SECONDS, uri_option


@click.command()
@click.argument("name", metavar="DATABASE.TABLE")
@uri_option
def protect(name: str, uri: str) -> None:
    """Refuse drops of a table, of its partitions and of its database, by any client."""
    from metastore.cli.protect import protect as run_protect

    click.echo(run_protect(uri, name, wanted=True))


@click.command()
@click.argument("name", metavar="DATABASE.TABLE")
@uri_option
def unprotect(name: str, uri: str) -> None:
    """Allow drops of a table again."""
    from metastore.cli.protect import protect as run_protect

    click.echo(run_protect(uri, name, wanted=False))


@click.command()
@click.argument("name", metavar="[DATABASE[.TABLE]]", default="")
@uri_option
def dropped(name: str, uri: str) -> None:
    """List what was dropped, truncated or overwritten and can be taken back: when, by whom, its size, until when."""
    from metastore.cli.undrop import show_dropped

    click.echo(show_dropped(uri, name), err=True)


@click.command()
@click.argument("name", metavar="DATABASE[.TABLE[@SPEC]]")
@click.option("--as", "new_name", metavar="NAME", help="a dropped table's name from now on, where its own is taken")
@click.option(
    "--number", type=click.IntRange(1, 2**63 - 1), help="of what `metastore dropped` lists  [the newest of this name]"
)
@uri_option
def undrop(name: str, new_name: str | None, number: int | None, uri: str) -> None:
    """Take back what was dropped, truncated or overwritten: a database, a table, or partitions (@ds=1) of a table."""
    from metastore.cli.undrop import undrop as run_undrop

    click.echo(run_undrop(uri, name, new_name, number))


@click.command()
@click.argument("name", metavar="DATABASE.TABLE")
@click.option("--at", metavar="TIME", help="show the definition as it was then: 2026-01-31T23:59:59, UTC")
@uri_option
def history(name: str, at: str | None, uri: str) -> None:
    """Show what changed of a table, and when, as far back as the notification log reaches."""
    from metastore.cli.history import history as run_history

    click.echo(run_history(uri, name, at), err=True)


@click.command()
@click.argument("name", metavar="[DATABASE[.TABLE]]", default="")
@click.option("--repair", is_flag=True, help="mend what is safe: directories that are missing, or empty and nobody's")
@click.option("--rows", is_flag=True, help="also read all rows of a table with Spark: whether each lies in its bucket")
@click.option("--master", default="local[*]", show_default=True, help="where Spark runs, for --rows")
@uri_option
def check(name: str, repair: bool, rows: bool, master: str, uri: str) -> int:
    """Check that catalog and storage agree, and that a bucketed table's files are in order; else the status is 1."""
    from metastore.cli.check import check as run_check

    status, summary = run_check(uri, name, rows=rows, repair=repair, master=master)
    click.echo(summary, err=True)
    return status


@click.command()
@click.argument("name", metavar="[DATABASE[.TABLE]]", default="")
@click.option("--dry-run", is_flag=True, help="say what would be removed, and remove nothing")
@click.option(
    "--grace",
    metavar="SECONDS",
    type=SECONDS,
    help="for how long files stay to which nothing refers  [the server's METASTORE_REPLACED_FILE_RETENTION]",
)
@click.option("--unregistered", is_flag=True, help="also what no write registered: older clients, a lost database")
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
@uri_option
def clean(name: str, dry_run: bool, grace: float | None, unregistered: bool, form: str, uri: str) -> None:
    """Remove files that were replaced and that dead writers left, of one table, one database or all; undo what the
    latter were at."""
    from metastore.cli.clean import clean as run_clean

    summary = run_clean(uri, name, dry_run=dry_run, grace=grace, unregistered=unregistered, form=form)
    if summary:
        click.echo(summary, err=True)
