"""The commands `metastore import`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from metastore.cli.options import DATABASE, Group, formats, settings_options, uri_option
from metastore.domain.import_names import check_name
from metastore.settings import Settings

_source = click.argument("source")
_databases = click.option(
    "--databases", metavar="A,B", help="Databases of SOURCE. Default: all. `catalog.database` for another catalog."
)

_rewrites = click.option(
    "--rewrite-location",
    "rewrites",
    multiple=True,
    metavar="FROM=TO",
    help="Replace the beginning of locations, for example hdfs://old=hdfs://new. Repeat the option for several.",
)


_encoding = click.option(
    "--text-encoding",
    "encoding",
    type=click.Choice(["utf8", "latin1"]),
    help="What the clients of SOURCE have written into latin1 columns of MySQL. Default: as most of its texts are.",
)
_report = click.option(
    "--report", type=click.Path(path_type=Path), help="File that receives the report (JSON), even after an error."
)


@click.group("import", cls=Group)
def import_() -> None:
    """Migrate from another metastore.

    SOURCE is thrift://host:9083, or the URL of the source's database: postgresql://user:password@host/database or
    mysql://user:password@host/database (needs 'metastore[mysql]'). The user needs only SELECT. Only `back` changes the
    source, through Thrift.
    """


@import_.command()
@_source
@_databases
@_encoding
@_report
@settings_options(*DATABASE, "warehouse", "allowed_locations")
@formats("objects", "locations", "not_imported", "findings")
def plan(source: str, databases: str | None, report: Path | None, encoding: str | None, **options: Any) -> None:
    """Show the objects that an import would copy or skip.

    Also shows broken rows of the source. Reads the source and changes nothing.
    """
    from metastore.cli.importing import show_plan

    show_plan(Settings.load(options), source, databases, report, encoding)


@import_.command()
@_source
@_databases
@_rewrites
@_report
@click.option(
    "--follow", is_flag=True, help="After the copy, apply the changes of SOURCE until the command is stopped."
)
@_encoding
@click.option("--name", help="Name of the import, which clients see. Default: the host of SOURCE, and its database.")
@click.option("--skip-broken", is_flag=True, help="Leave out the rows that `plan` shows as broken, and report them.")
@settings_options(*DATABASE)
@formats()
def run(
    source: str,
    databases: str | None,
    rewrites: tuple[str, ...],
    report: Path | None,
    follow: bool,
    skip_broken: bool,
    name: str | None,
    encoding: str | None,
    **options: Any,
) -> None:
    """Copy databases from SOURCE unchanged. A run that was interrupted continues.

    If the databases are copied already, only the changes of SOURCE since then are applied. If SOURCE has moved to
    another address, name its import with --name.

    Creates no directory, opens no file system and records no event. The files belong to the source until the databases
    are switched.
    """
    from metastore.cli.importing import run_import

    if name is not None:
        check_name(name)
    settings = Settings.load(options)
    run_import(settings, source, databases, rewrites, report, skips_broken=skip_broken, encoding=encoding, name=name)
    if follow:
        from metastore.cli.following import run_follow

        run_follow(settings, source, once=False)


@import_.command("follow")
@_source
@click.option("--once", is_flag=True, help="Exit when this server has all changes.")
@settings_options(*DATABASE)
def follow_(source: str, once: bool, **options: Any) -> None:
    """Apply the changes of SOURCE to the imported databases.

    Runs until it is stopped. Reads the notification log of SOURCE. Without a log, it compares everything in rounds.
    """
    from metastore.cli.following import run_follow

    run_follow(Settings.load(options), source, once=once)


@import_.command()
@click.option("--findings", default=20, show_default=True, help="Maximum number of findings to show.")
@settings_options(*DATABASE)
@formats("imports", "databases")
def status(findings: int, **options: Any) -> None:
    """Show the imports, their progress and their findings."""
    from metastore.cli.importing import show_status

    show_status(Settings.load(options), findings)


@import_.command()
@_source
@_databases
@_rewrites
@_encoding
@click.option("--show", default=50, show_default=True, help="Maximum number of differences to show.")
@_report
@click.option("--lasting", is_flag=True, help="Count only differences that a second comparison finds again.")
@uri_option
@settings_options(*DATABASE)
@formats("compared", "differences")
def verify(
    source: str,
    databases: str | None,
    rewrites: tuple[str, ...],
    show: int,
    report: Path | None,
    lasting: bool,
    encoding: str | None,
    uri: str,
    **options: Any,
) -> int:
    """Compare the objects of SOURCE with this server's, field by field.

    Reads this server through Thrift, and from its database how the import has read texts in latin1 columns. The exit
    status is 1 if something differs.
    """
    from metastore.cli.verifying import show_verified

    settings = Settings.load(options)
    return show_verified(settings, source, uri, databases, rewrites, show, report, lasting=lasting, encoding=encoding)


@import_.command()
@_source
@click.option("--database", "names", multiple=True, metavar="NAME", help="Database to switch. Default: all.")
@click.option("--force", is_flag=True, help="Switch even if a check of the source fails or cannot be made.")
@click.option("--fence", metavar="COMMAND", help="Shell command that keeps writers away from SOURCE. Reads must work.")
@click.option("--unfence", metavar="COMMAND", help="Shell command that ends the fence if the switch fails.")
@_report
@settings_options(*DATABASE, "warehouse", "allowed_locations")
@formats("databases", "locations")
def switch(
    source: str,
    names: tuple[str, ...],
    force: bool,
    fence: str | None,
    unfence: str | None,
    report: Path | None,
    **options: Any,
) -> None:
    """Take over the files of imported databases.

    The switch is rejected if SOURCE has changed since the copy. If a follower runs, the switch waits for its last
    changes. Stop the writers at SOURCE first, or name a command that stops them with --fence. The switch checks the
    last event of SOURCE and its open transactions, and changes nothing there. Afterwards, this server creates, moves
    and deletes the files of these databases.
    """
    from metastore.cli.switching import CommandFence, show_switch

    show_switch(Settings.load(options), source, names, report, force=force, fence=CommandFence(fence, unfence))


@import_.command()
@_source
@click.option("--to", "address", metavar="URI", help="Thrift address of SOURCE. Default: SOURCE itself.")
@click.option("--once", is_flag=True, help="Exit when SOURCE has all changes.")
@click.option("--give-back", is_flag=True, help="After the last change, make SOURCE the owner of the databases again.")
@_report
@uri_option
@settings_options(*DATABASE)
def back(
    source: str,
    address: str | None,
    once: bool,
    give_back: bool,
    report: Path | None,
    uri: str,
    **options: Any,
) -> None:
    """Apply the changes of switched databases to SOURCE.

    Runs until it is stopped. SOURCE then stays up to date until you retire it. Files are not touched. Reads this
    server through Thrift.
    """
    from metastore.cli.returning import WayBack, run_back

    way = WayBack(source=source, address=address or source, uri=uri, once=once, give_back=give_back)
    run_back(Settings.load(options), way, report)


@import_.command()
@_source
@click.option(
    "--take-files",
    is_flag=True,
    help="Keep the databases, and make this server the owner of their files, without the checks of `switch`.",
)
@click.option(
    "--drop-databases", "drop", is_flag=True, help="Drop the databases that are not switched. Their files stay."
)
@settings_options(*DATABASE)
def forget(source: str, take_files: bool, drop: bool, **options: Any) -> None:
    """Forget the import from SOURCE, an address or the name of an import.

    The import can then be repeated from the beginning. If databases of the import are not switched, one of the
    options is required.
    """
    from metastore.cli.importing import forget_import

    if take_files and drop:
        raise click.UsageError("--take-files and --drop-databases exclude each other")
    click.echo(forget_import(Settings.load(options), source, take_files=take_files, drop=drop))
