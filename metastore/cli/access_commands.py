"""The commands for users, tokens, privileges and the test of a server's security."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from metastore.cli.options import DATABASE, Group, formats, settings_options, uri_option
from metastore.settings import Settings

_Command = TypeVar("_Command", bound=Callable[..., Any])


@click.group(cls=Group)
def users() -> None:
    """Manage the users in METASTORE_PASSWORD_FILE."""


@users.command("add")
@click.argument("name")
@settings_options("password_file")
def add_user(name: str, **options: Any) -> None:
    """Add a user, or change the password of a user.

    At a terminal, the command asks for the password twice. Otherwise it reads the first line of standard input.
    """
    from metastore.cli.users import add

    click.echo(add(Settings.load(options), name))


@users.command("remove")
@click.argument("name")
@settings_options("password_file")
def remove_user(name: str, **options: Any) -> None:
    """Remove a user. Open connections of the user are closed within a minute."""
    from metastore.cli.users import remove

    click.echo(remove(Settings.load(options), name))


@users.command("list")
@settings_options("password_file")
@formats()
def list_users(**options: Any) -> None:
    """List the users."""
    from metastore.cli.users import show

    show(Settings.load(options))


@click.command("check-security")
@click.argument("uris", metavar="URI[,URI]")
@formats()
def check_security(uris: str) -> int:
    """Test TLS and authentication of a server, as a client.

    The credentials are in the environment variables METASTORE_CLIENT_*. For each failed check, the output says whether
    to fix the client or the server. The exit status is 1 if a check fails.
    """
    from metastore.cli.check_security import check_security as run_check

    return run_check(uris)


@click.group(cls=Group)
def tokens() -> None:
    """Manage the delegation tokens in the database."""


@tokens.command("list")
@settings_options(*DATABASE)
@formats()
def list_tokens(**options: Any) -> None:
    """List the valid tokens."""
    from metastore.cli.tokens import show

    show(Settings.load(options))


@tokens.command("revoke")
@click.argument("number", type=int, required=False)
@click.option("--owner", help="Revoke all tokens of this user.")
@settings_options(*DATABASE)
def revoke_tokens(number: int | None, owner: str | None, **options: Any) -> None:
    """Revoke one token by its number, or all tokens of a user. Their connections are closed within a minute."""
    from metastore.cli.tokens import revoke

    click.echo(revoke(Settings.load(options), number, owner))


@click.group(cls=Group)
def rights() -> None:
    """Manage the privileges of users, groups and roles.

    Privileges apply with METASTORE_AUTHORIZATION=grants.

    OBJECT is a DATABASE, a DATABASE.TABLE, a DATABASE.TABLE.COLUMN, a location (s3a://bucket/raw), catalog:NAME, '*'
    for everything, or a pattern of names such as 'sales.public_*' and 'stage_*.*'.
    PRINCIPAL is a USER, @GROUP or role:ROLE.
    """


def _privilege(command: _Command) -> _Command:
    """Adds the arguments RIGHT, OBJECT and PRINCIPAL to a command."""
    command = click.argument("on", metavar="OBJECT")(click.argument("principal")(command))
    return click.argument("right")(command)


@rights.command("grant")
@_privilege
@click.option("--grant-option", is_flag=True, help="Allow the principal to grant the privilege to others.")
@uri_option
def grant_right(right: str, on: str, principal: str, grant_option: bool, uri: str) -> None:
    """Grant a privilege.

    RIGHT is SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, DROP or ALL. On a location, it is LOCATION.
    """
    from metastore.cli.rights import change

    click.echo(change(uri, right, on, principal, option=grant_option))


@rights.command("revoke")
@_privilege
@uri_option
def revoke_right(right: str, on: str, principal: str, uri: str) -> None:
    """Revoke a privilege."""
    from metastore.cli.rights import change

    click.echo(change(uri, right, on, principal, revoked=True))


@rights.command("deny")
@_privilege
@uri_option
def deny_right(right: str, on: str, principal: str, uri: str) -> None:
    """Deny a privilege, even if it is also granted.

    RIGHT is SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, DROP or ALL. OBJECT cannot be a location.
    """
    from metastore.cli.rights import deny

    click.echo(deny(uri, right, on, principal))


@rights.command("allow")
@_privilege
@uri_option
def allow_right(right: str, on: str, principal: str, uri: str) -> None:
    """Remove a deny."""
    from metastore.cli.rights import deny

    click.echo(deny(uri, right, on, principal, revoked=True))


@rights.command("list")
@click.argument("on", metavar="[OBJECT]", required=False)
@click.option("--of", "principal", help="List only the privileges of this USER, @GROUP or role:ROLE.")
@uri_option
@formats()
def list_rights(on: str | None, principal: str | None, uri: str) -> None:
    """List the granted privileges."""
    from metastore.cli.rights import show

    show(uri, on, principal)
