"""The commands and their options.

Each command imports its implementation when it runs, so that `--help` is fast.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import click

from metastore.cli.access_commands import check_security, rights, tokens, users
from metastore.cli.care_commands import care
from metastore.cli.database_commands import db, export
from metastore.cli.file_commands import check, clean, dropped, events, files, history, protect, undrop, unprotect
from metastore.cli.import_commands import import_
from metastore.cli.options import DATABASE, DURATION, Group, SectionedCommand, formats, settings_options, uri_option
from metastore.cli.printing import printable
from metastore.cli.scan_commands import advise, scans
from metastore.cli.server_commands import config, doctor, health
from metastore.cli.sink_commands import sinks
from metastore.errors import MetastoreError
from metastore.settings import PREFIX, Settings

_INTERRUPTED: Final = 130
_CONTEXT: Final = {"max_content_width": 120, "help_option_names": ["-h", "--help"]}


def run(arguments: list[str] | None = None) -> int:
    """Runs one command line (default: of this process). Returns the exit status. Prints an error as one line."""
    try:
        return metastore.main(arguments, prog_name="metastore", standalone_mode=False) or 0
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        command = context.command_path if context else _command(arguments or sys.argv[1:])
        message = error.format_message()
        end = "" if message.endswith((".", "?")) else "."
        return _fail(f"{message}{end} See: {command} --help", error.exit_code)
    except MetastoreError as error:
        return _fail(str(error), error.exit_status)
    except (click.Abort, KeyboardInterrupt):
        return _INTERRUPTED
    except BrokenPipeError:  # the reader of a pipe has exited, as in `metastore tables x | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _command(arguments: Sequence[str]) -> str:
    """Returns the command of a command line. Click does not name it for an option without its value."""
    path = ["metastore"]
    command: click.Command | None = metastore
    for argument in arguments:
        command = command.commands.get(argument) if isinstance(command, click.Group) else None
        if command is None:
            break
        path.append(argument)
    return " ".join(path)


def _fail(text: str, status: int) -> int:
    click.echo(printable(f"metastore: {' '.join(text.split())}"), err=True)
    return status


@click.group(invoke_without_command=True, no_args_is_help=False, context_settings=_CONTEXT)
@click.version_option(version("metastore"), message="metastore %(version)s")
@click.pass_context
def metastore(context: click.Context) -> None:
    """A Hive Metastore on PostgreSQL.

    `metastore serve` starts a server. Most other commands are clients of a running server.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@metastore.command(cls=SectionedCommand)
@settings_options()
def serve(**options: Any) -> int:
    """Start a server.

    SIGTERM and Ctrl-C stop the server after the running calls have finished.
    A second signal aborts the running calls.

    Without --database-url, the server runs its own PostgreSQL in the data directory and upgrades its schema. With
    --database-url, run `metastore db upgrade` before the first start and after each update.

    Each option has an environment variable, in brackets. An option takes precedence over its variable, and both over
    the configuration file. Almost no server needs the options under Advanced.
    """
    settings = Settings.load(options)
    gc.disable()  # imports create no garbage, and looking for it takes a fifth of the start
    from metastore.cli.serve import serve as run_server

    gc.freeze()  # the forked workers share these objects: the collector must not write to them
    gc.enable()
    return run_server(settings)


for administration in (config, doctor, health):
    metastore.add_command(administration)
metastore.add_command(care)
metastore.add_command(db)
metastore.add_command(export)
metastore.add_command(sinks)


@metastore.command()
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path),
    help="Empty directory that keeps the files of the demo. Default: a temporary directory.",
)
def demo(data_dir: Path | None) -> int:
    """Show pruning with flight data in a skewed table.

    Loads the data with Spark, queries it, and shows which files were pruned.
    """
    from metastore.cli.demo import run_demo

    return run_demo(data_dir)


@metastore.command()
@click.option("--unsupported", "unsupported", is_flag=True, help="List only methods that are not supported.")
@formats()
def methods(unsupported: bool) -> None:
    """List the methods of Hive's Thrift service.

    Prints why a method is not supported.
    """
    from metastore.cli.methods import show_methods

    show_methods(unsupported_only=unsupported)


@metastore.command()
@uri_option
@formats()
def databases(uri: str) -> None:
    """List the databases."""
    from metastore.cli.show import show_databases

    show_databases(uri)


@metastore.command()
@click.argument("database")
@uri_option
@formats()
def tables(database: str, uri: str) -> None:
    """List the tables of DATABASE."""
    from metastore.cli.names import checked_database
    from metastore.cli.show import show_tables

    show_tables(uri, checked_database(database))


@metastore.command()
@click.argument("name", metavar="DATABASE.TABLE")
@click.option(
    "--limit", default=50, show_default=True, type=click.IntRange(min=0), help="Maximum number of partitions to show."
)
@uri_option
@formats("properties", "parameters", "columns", "policies", "skew", "partitions")
def table(name: str, limit: int, uri: str) -> None:
    """Show columns, policies, skewed values and partitions of a table.

    Shows the directories of its skewed values, and where each policy of table care is set, too.
    """
    from metastore.cli.names import split_table
    from metastore.cli.show import show_table

    show_table(uri, *split_table(name), limit)


@metastore.group(invoke_without_command=True, no_args_is_help=False)
@uri_option
@formats()
@click.pass_context
def locks(context: click.Context, uri: str) -> None:
    """List the locks. `metastore locks break` releases one."""
    context.obj = uri
    if context.invoked_subcommand is None:
        from metastore.cli.locks import show_locks

        show_locks(uri)


@locks.command("break")
@click.argument("lock", metavar="ID", type=int)
@click.option("--uri", help="Addresses of servers, as for `metastore locks`.")
@click.pass_context
def break_(context: click.Context, lock: int, uri: str | None) -> None:
    """Release the lock ID of any client. If the lock belongs to a transaction, the transaction is aborted."""
    from metastore.cli.locks import break_lock

    click.echo(break_lock(uri or context.obj, lock))


@metastore.command()
@click.option("--slow", "kind", flag_value="slow", default="slow", help="The last slow calls. This is the default.")
@click.option("--now", "kind", flag_value="now", help="Calls that have been in execution for at least 0.1 seconds.")
@click.option(
    "--url",
    envvar=f"{PREFIX}HTTP_URL",
    show_envvar=True,
    help="URL of the HTTP port of a running server. By default METASTORE_HTTP_PORT on this host, or 9084.",
)
@settings_options("data_dir", "http_token_file", "http_host", "http_port", "http_tls")
@formats()
def calls(kind: str, url: str | None, **options: Any) -> None:
    """Show the slow calls or the running calls of a server.

    The server must set METASTORE_HTTP_PORT. The command sends the token from the server's token file, so it must run as
    the user of the server, or with a copy of that file.
    """
    from metastore.cli.calls import show_calls

    show_calls(Settings.load(options), url, kind)


@metastore.command()
@click.argument("name", metavar="DATABASE.TABLE[@SPEC]")
@click.option(
    "--up/--down", default=True, help="Show the tables that it depends on (default), or those that depend on it."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["tree", "json", "dot", "mermaid", "openlineage"]),
    default="tree",
    show_default=True,
)
@uri_option
def dependencies(name: str, up: bool, form: str, uri: str) -> None:
    """Show the dependencies of a table or partition (@ds=1).

    Prints a tree, or a format for other programs.
    """
    from metastore.cli.dependencies import show_dependencies

    show_dependencies(uri, name, up=up, form=form)


@metastore.command()
@click.argument("name", metavar="DATABASE.TABLE[@SPEC]")
@uri_option
@formats()
def impact(name: str, uri: str) -> None:
    """List all partitions that depend on a table or partition.

    Lists direct and indirect dependents, and whether they are stale.

    Use it before you drop or overwrite data.
    """
    from metastore.cli.dependencies import show_impact

    show_impact(uri, name)


@metastore.group(cls=Group)
def partitions() -> None:
    """Work with partitions."""


@partitions.command("wait")
@click.argument("name", metavar="DATABASE.TABLE")
@click.argument("specs", metavar="COLUMN=VALUE[/COLUMN=VALUE]...", nargs=-1, required=True)
@click.option("--dependencies", "bases", is_flag=True, help="Also wait for all partitions that they depend on.")
@click.option("--timeout", type=DURATION, help="Maximum time to wait. Default: no limit.")
@uri_option
def wait(name: str, specs: tuple[str, ...], bases: bool, timeout: float | None, uri: str) -> None:
    """Wait until all these partitions exist.

    A VALUE may be a range of days or whole numbers: ds=2026-01-01..2026-01-31/hour=00..23.

    The exit status is 0 when all exist, 3 when the time is over, and 1 after an error.
    """
    from metastore.cli.dependencies import wait as run_wait

    click.echo(run_wait(uri, name, specs, dependencies=bases, timeout=timeout))


@metastore.group(cls=Group)
def spark() -> None:
    """Run Spark servers with the client library."""


@spark.command("serve")
@click.option("--connect", type=click.IntRange(1, 65535), help="Port for Spark Connect, usually 15002.")
@click.option("--thrift", type=click.IntRange(1, 65535), help="Port for JDBC (Spark's Thrift server), usually 10000.")
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on. Addresses other than loopback require authentication.",
)
@click.option(
    "--share-level",
    type=click.Choice(["user", "server"]),
    help="user: clients log in with their credentials for the metastore, and each user has a Spark driver, which "
    "--launch starts. server: all clients share one driver and this process's rights. Default: user with --launch, or "
    "if the metastore authenticates its clients.",
)
@click.option(
    "--launch",
    metavar="COMMAND",
    help="Command that starts a program as an operating system user, such as 'sudo -n -u {user} --'. No shell reads "
    "it. For share level user.",
)
@click.option("--tls-certificate", help="PEM file with the certificate chain. For share level user.")
@click.option("--tls-key", help="PEM file with the certificate's private key. For share level user.")
@click.option(
    "--max-drivers",
    type=click.IntRange(1),
    help="Maximum number of drivers. Default: as many as fit into the memory, at most 8. For share level user.",
)
@click.option(
    "--idle-timeout",
    type=click.IntRange(1),
    metavar="SECONDS",
    help="Time without a call after which a driver stops. Default: 3600. For share level user.",
)
@click.option(
    "--connect-token-file",
    help="File with the token that clients of Spark Connect must present. Spark 4.0 or newer. For share level server.",
)
@click.option("--master", help="Spark's master. Default: Spark's own configuration, or local mode.")
@click.option("--warehouse", help="Directory for new databases. Default: the location of the database `default`.")
@click.option(
    "--conf", multiple=True, metavar="NAME=VALUE", help="A Spark setting. Repeat the option for several settings."
)
@uri_option
def spark_serve(conf: tuple[str, ...], **options: Any) -> int:
    """Serve Spark Connect and JDBC until SIGTERM or Ctrl-C.

    Clients need neither the client library nor its settings.
    """
    from metastore.cli.spark import serve as serve_spark

    return serve_spark(conf, options)


@metastore.group(cls=Group)
def skew() -> None:
    """Analyze skewed columns."""


@skew.command()
@click.argument("name", metavar="DATABASE.TABLE")
@click.option("--columns", metavar="A,B", help="Columns to analyze together. Default: each column on its own.")
@click.option("--share", default=0.01, show_default=True, help="Minimum share of all rows for a heavy value.")
@click.option("--limit", type=click.IntRange(min=1), help="Maximum number of heavy values.")
@click.option("--record", is_flag=True, help="Store the result with the table, for the console.")
@click.option("--master", default="local[*]", show_default=True, help="Spark's master.")
@uri_option
@formats("columns", "values", "statement")
def suggest(
    name: str, columns: str | None, share: float, limit: int | None, master: str, uri: str, *, record: bool
) -> None:
    """Find heavy values of a table with Spark, and print the statement that gives each its own directory.

    Reads the whole table once.
    """
    from metastore.cli.skew import suggest as run_suggest

    run_suggest(uri, name, columns, share=share, limit=limit, master=master, record=record)


@metastore.command()
@click.argument("name", metavar="[DATABASE[.TABLE]]", required=False)
@click.option(
    "--since", metavar="TIME", help="Show entries since this time: 2026-01-31 or 2026-01-31T23:59:59, in UTC."
)
@click.option("--user", help="Show only calls by this user or on behalf of this user.")
@click.option("--method", help="Show only calls of this method, such as record_care: what table care has done.")
@click.option(
    "--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="Number of latest entries."
)
@settings_options(*DATABASE, "audit")
@formats()
def audit(
    name: str | None, since: str | None, user: str | None, method: str | None, limit: int, **options: Any
) -> None:
    """Show the audit trail.

    The trail has changes and denied calls, in commit order.

    Servers record it with METASTORE_AUDIT=table.
    """
    from metastore.cli.audit import Chosen
    from metastore.cli.audit import audit as show_audit

    click.echo(show_audit(Settings.load(options), Chosen(name, since, user, method), limit), err=True)


for command in (
    import_,
    users,
    tokens,
    rights,
    check_security,
    protect,
    unprotect,
    dropped,
    files,
    undrop,
    events,
    history,
    check,
    clean,
    scans,
    advise,
):
    metastore.add_command(command)
