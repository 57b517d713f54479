"""The commands and their options. What they do is imported when it is asked for, so that `--help` is instant."""

from __future__ import annotations

import gc
import os
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import click

from metastore.cli.database_commands import db
from metastore.cli.file_commands import check, clean, dropped, history, protect, undrop, unprotect
from metastore.cli.options import SECONDS, settings_options, uri_option
from metastore.errors import MetastoreError
from metastore.settings import PREFIX, Settings

_INTERRUPTED: Final = 130


def run(arguments: list[str] | None = None) -> int:
    """Runs one command line; returns the exit status. Errors are one line on stderr."""
    try:
        return metastore.main(arguments, prog_name="metastore", standalone_mode=False) or 0
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "metastore"
        return _fail(f"{error.format_message()} See: {command} --help", error.exit_code)
    except MetastoreError as error:
        return _fail(str(error), 1)
    except (click.Abort, KeyboardInterrupt):
        return _INTERRUPTED
    except BrokenPipeError:  # whoever read our output has left: `metastore tables x | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _fail(text: str, status: int) -> int:
    click.echo(f"metastore: {' '.join(text.split())}", err=True)
    return status


class Group(click.Group):
    """Commands of one noun, whose name alone shows their help."""

    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        """Reads them."""
        return super().parse_args(context, arguments or ["--help"])


@click.group(invoke_without_command=True, no_args_is_help=False, context_settings={"max_content_width": 120})
@click.version_option(version("metastore"), message="metastore %(version)s")
@click.pass_context
def metastore(context: click.Context) -> None:
    """A Hive Metastore on PostgreSQL."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@metastore.command()
@settings_options()
def serve(**options: Any) -> int:
    """Serve the Hive Metastore protocol until SIGTERM or Ctrl-C, which let the calls in flight finish.

    Without a database URL, PostgreSQL is started in the data folder, and its schema is kept up to date.
    """
    settings = Settings.from_environment(options)
    gc.disable()  # nothing that is imported is garbage: a fifth of the time would be spent on finding that out
    from metastore.cli.serve import serve as run_server

    gc.freeze()  # nor will it be: the workers, which are forked from here, share it
    gc.enable()
    return run_server(settings)


metastore.add_command(db)


@metastore.command()
@click.option(
    "--data-dir", type=click.Path(path_type=Path), help="an empty folder to keep what the demo makes (else removed)"
)
def demo(data_dir: Path | None) -> int:
    """Load real flights into a skewed table with Spark, query it, and show what was pruned."""
    from metastore.cli.demo import run_demo

    return run_demo(data_dir)


@metastore.command()
@click.option("--refused", is_flag=True, help="only those that are not served")
def methods(refused: bool) -> None:
    """List the methods of Hive's service by domain: served, or refused and why."""
    from metastore.cli.methods import show_methods

    show_methods(refused_only=refused)


@metastore.command()
@uri_option
def databases(uri: str) -> None:
    """List the databases of a running metastore."""
    from metastore.cli.show import show_databases

    show_databases(uri)


@metastore.command()
@click.argument("database")
@uri_option
def tables(database: str, uri: str) -> None:
    """List the tables of DATABASE."""
    from metastore.cli.names import checked_database
    from metastore.cli.show import show_tables

    show_tables(uri, checked_database(database))


@metastore.command()
@click.argument("name", metavar="DATABASE.TABLE")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(min=0), help="partitions shown at most")
@uri_option
def table(name: str, limit: int, uri: str) -> None:
    """Show the columns, the skew with its directories, and the partitions of a table."""
    from metastore.cli.names import split_table
    from metastore.cli.show import show_table

    show_table(uri, *split_table(name), limit)


@metastore.group(invoke_without_command=True, no_args_is_help=False)
@uri_option
@click.pass_context
def locks(context: click.Context, uri: str) -> None:
    """List the locks of a running metastore; `locks break` ends one."""
    context.obj = uri
    if context.invoked_subcommand is None:
        from metastore.cli.locks import show_locks

        show_locks(uri)


@locks.command("break")
@click.argument("lock", metavar="ID", type=int)
@click.option("--uri", help="as of `metastore locks`")
@click.pass_context
def break_(context: click.Context, lock: int, uri: str | None) -> None:
    """End the lock ID, whoever holds it. Of a transaction's lock, abort the transaction."""
    from metastore.cli.locks import break_lock

    click.echo(break_lock(uri or context.obj, lock))


@metastore.command()
@click.option("--slow", "kind", flag_value="slow", default="slow", help="The last slow calls. This is the default.")
@click.option("--now", "kind", flag_value="now", help="Calls that have been in execution for at least 0.1 seconds.")
@click.option(
    "--url",
    envvar=f"{PREFIX}HTTP_URL",
    default="http://127.0.0.1:9084",
    show_default=True,
    show_envvar=True,
    help="URL of the HTTP port of a running server.",
)
@settings_options("data_dir", "http_token_file")
def calls(kind: str, url: str, **options: Any) -> None:
    """Show the slow calls, or the calls in execution, of a running server.

    The server must set METASTORE_HTTP_PORT. The command sends the token from the server's token file, so it must run as
    the user of the server, or with a copy of that file.
    """
    from metastore.cli.calls import show_calls

    show_calls(Settings.from_environment(options), url, kind)


@metastore.command()
@click.argument("name", metavar="DATABASE.TABLE[@SPEC]")
@click.option("--up/--down", default=True, help="what it depends on (default), or what depends on it")
@click.option(
    "--format",
    "form",
    type=click.Choice(["tree", "json", "dot", "mermaid", "openlineage"]),
    default="tree",
    show_default=True,
)
@uri_option
def dependencies(name: str, up: bool, form: str, uri: str) -> None:
    """Show what a dependent table, or a partition of it (@ds=1), depends on; or what depends on any table."""
    from metastore.cli.dependencies import show_dependencies

    show_dependencies(uri, name, up=up, form=form)


@metastore.command()
@click.argument("name", metavar="DATABASE.TABLE[@SPEC]")
@uri_option
def impact(name: str, uri: str) -> None:
    """List what depends on a table or partition, transitively, and which of it is stale: before a drop or overwrite."""
    from metastore.cli.dependencies import show_impact

    show_impact(uri, name)


@metastore.group(cls=Group)
def users() -> None:
    """Users with passwords, of METASTORE_PASSWORD_FILE."""


@users.command("add")
@click.argument("name")
@settings_options("password_file")
def add_user(name: str, **options: Any) -> None:
    """Add a user, or change the password, which is asked for: at a terminal twice, else the first line of stdin."""
    from metastore.cli.users import add

    click.echo(add(Settings.from_environment(options), name))


@users.command("remove")
@click.argument("name")
@settings_options("password_file")
def remove_user(name: str, **options: Any) -> None:
    """Remove a user. Connections that are open stay."""
    from metastore.cli.users import remove

    click.echo(remove(Settings.from_environment(options), name))


@users.command("list")
@settings_options("password_file")
def list_users(**options: Any) -> None:
    """List the users."""
    from metastore.cli.users import show

    show(Settings.from_environment(options))


@metastore.command("check-security")
@click.argument("uris", metavar="URI[,URI]")
def check_security(uris: str) -> int:
    """Connect as a client does, with the METASTORE_CLIENT_… of the environment, and say what works and which side is
    wrong; the status is 1 where these do not come in."""
    from metastore.cli.check_security import check_security as run_check

    return run_check(uris)


@metastore.group(cls=Group)
def tokens() -> None:
    """Delegation tokens that the servers on a database have given."""


@tokens.command("list")
@settings_options("database_url", "data_dir")
def list_tokens(**options: Any) -> None:
    """List those that are valid."""
    from metastore.cli.tokens import show

    show(Settings.from_environment(options))


@tokens.command("revoke")
@click.argument("number", type=int, required=False)
@click.option("--owner", help="all of this user's")
@settings_options("database_url", "data_dir")
def revoke_tokens(number: int | None, owner: str | None, **options: Any) -> None:
    """Revoke one by its number, or all of an owner. Connections that are open stay."""
    from metastore.cli.tokens import revoke

    click.echo(revoke(Settings.from_environment(options), number, owner))


@metastore.group(cls=Group)
def rights() -> None:
    """Rights on a running metastore (METASTORE_AUTHORIZATION=grants).

    On DATABASE, DATABASE.TABLE, a place (s3a://bucket/raw), catalog:NAME, or '*' for everything; of USER, @GROUP or
    role:ROLE.
    """


@rights.command("grant")
@click.argument("right")
@click.argument("on", metavar="OBJECT")
@click.argument("principal")
@click.option("--grant-option", is_flag=True, help="and they may grant it on")
@uri_option
def grant_right(right: str, on: str, principal: str, grant_option: bool, uri: str) -> None:
    """Grant SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, DROP, ALL or, on a place, LOCATION."""
    from metastore.cli.rights import change

    click.echo(change(uri, right, on, principal, option=grant_option))


@rights.command("revoke")
@click.argument("right")
@click.argument("on", metavar="OBJECT")
@click.argument("principal")
@uri_option
def revoke_right(right: str, on: str, principal: str, uri: str) -> None:
    """Revoke what was granted."""
    from metastore.cli.rights import change

    click.echo(change(uri, right, on, principal, revoked=True))


@rights.command("list")
@click.argument("on", metavar="[OBJECT]", required=False)
@click.option("--of", "principal", help="only what this USER, @GROUP or role:ROLE has")
@uri_option
def list_rights(on: str | None, principal: str | None, uri: str) -> None:
    """List what was granted: on an object, to somebody."""
    from metastore.cli.rights import show

    show(uri, on, principal)


@metastore.group(cls=Group)
def partitions() -> None:
    """Partitions of a running metastore."""


@partitions.command("wait")
@click.argument("name", metavar="DATABASE.TABLE")
@click.argument("spec", metavar="COLUMN=VALUE[/COLUMN=VALUE]")
@click.option("--dependencies", "bases", is_flag=True, help="and until all that it depends on is there")
@click.option("--timeout", type=SECONDS, help="seconds to wait at most  [for ever]")
@uri_option
def wait(name: str, spec: str, bases: bool, timeout: float | None, uri: str) -> None:
    """Wait until a partition is there; the status is 1 when it is not in time."""
    from metastore.cli.dependencies import wait as run_wait

    click.echo(run_wait(uri, name, spec, dependencies=bases, timeout=timeout))


@metastore.group(cls=Group)
def spark() -> None:
    """Spark with the client library, for clients that do not have it."""


@spark.command("serve")
@click.option("--connect", type=click.IntRange(1, 65535), help="port of Spark Connect (its usual one: 15002)")
@click.option("--thrift", type=click.IntRange(1, 65535), help="port of the Thrift server, for JDBC (usual: 10000)")
@click.option("--host", default="127.0.0.1", show_default=True, help="address to listen on; nobody is asked who he is")
@click.option("--master", help="Spark's master; this machine alone where nothing says another")
@click.option("--warehouse", help="where new databases are put; else where the database default lies")
@click.option("--conf", multiple=True, metavar="NAME=VALUE", help="a setting of Spark's; may be given several times")
@uri_option
def spark_serve(conf: tuple[str, ...], **options: Any) -> int:
    """Serve Spark Connect and JDBC until SIGTERM or Ctrl-C."""
    from metastore.cli.spark import serve as serve_spark

    return serve_spark(conf, options)


@metastore.group(cls=Group)
def skew() -> None:
    """Heavy values of tables."""


@skew.command()
@click.argument("name", metavar="DATABASE.TABLE")
@click.option("--columns", metavar="A,B", help="columns, taken together  [each for itself]")
@click.option("--share", default=0.01, show_default=True, help="of all rows, that a heavy value has at least")
@click.option("--limit", type=click.IntRange(min=1), help="only the heaviest so many values")
@click.option("--master", default="local[*]", show_default=True, help="where Spark runs")
@uri_option
def suggest(name: str, columns: str | None, share: float, limit: int | None, master: str, uri: str) -> None:
    """Read a table once with Spark, and say which values deserve a directory, and what that saves."""
    from metastore.cli.skew import suggest as run_suggest

    run_suggest(uri, name, columns, share=share, limit=limit, master=master)


@metastore.command()
@click.argument("name", metavar="[DATABASE[.TABLE]]", required=False)
@click.option("--since", metavar="TIME", help="2026-01-31, or 2026-01-31T23:59:59; UTC without an offset")
@click.option("--user", help="only what this user did, or somebody for him")
@click.option("--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="lines, the last ones")
@settings_options("database_url", "data_dir", "audit")
def audit(name: str | None, since: str | None, user: str | None, limit: int, **options: Any) -> None:
    """Show who changed what, and who was refused what (METASTORE_AUDIT=table), in the order of the commits."""
    from metastore.cli.audit import audit as show_audit

    click.echo(show_audit(Settings.from_environment(options), name, since, user, limit), err=True)


for command in (protect, unprotect, dropped, undrop, history, check, clean):
    metastore.add_command(command)
