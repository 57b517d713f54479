"""A variable that begins as a setting does and that nothing reads is an error, which names the nearest setting."""

from __future__ import annotations

import click
import pytest

from metastore.cli.commands import metastore, run
from metastore.client.credentials import Credentials
from metastore.client.errors import CredentialsError
from metastore.errors import ConfigurationError
from metastore.settings import PREFIX, Settings
from metastore.settings.sources import OF_COMMANDS, variable

# What a Pod sees for the Services `metastore` and `metastore-http`, and for one port of each.
KUBERNETES = {
    "METASTORE_SERVICE_HOST": "10.0.0.11",
    "METASTORE_SERVICE_PORT": "9083",
    "METASTORE_SERVICE_PORT_THRIFT": "9083",
    "METASTORE_PORT_9083_TCP": "tcp://10.0.0.11:9083",
    "METASTORE_PORT_9083_TCP_PROTO": "tcp",
    "METASTORE_PORT_9083_TCP_PORT": "9083",
    "METASTORE_PORT_9083_TCP_ADDR": "10.0.0.11",
    "METASTORE_READ_ONLY_SERVICE_HOST": "10.0.0.12",
    "METASTORE_READ_ONLY_SERVICE_PORT_THRIFT": "9083",
    "METASTORE_READ_ONLY_PORT": "tcp://10.0.0.12:9083",
    "METASTORE_READ_ONLY_PORT_9083_TCP_ADDR": "10.0.0.12",
    "METASTORE_CLIENT_SERVICE_HOST": "10.0.0.13",
    "METASTORE_CLIENT_PORT": "tcp://10.0.0.13:9083",
}


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("METASTORE_LOCATIONS", "METASTORE_ALLOWED_LOCATIONS"),
        ("METASTORE_POOL_SIZ", "METASTORE_POOL_SIZE"),
        ("METASTORE_DATABSE_URL", "METASTORE_DATABASE_URL"),
        ("METASTORE_READ_ONLY_PORT", "METASTORE_READ_ONLY"),  # only an address is from Kubernetes
    ],
)
def test_an_unknown_variable_is_an_error_with_the_nearest_setting(name: str, nearest: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{name} is not a setting: did you mean {nearest}[?]$"):
        Settings.load({}, {name: "9"})


@pytest.mark.parametrize("command", ["config check", "serve", "doctor"])
def test_commands_end_with_one_line(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("METASTORE_LOCATIONS", "/data")
    assert run(command.split()) == 1
    text = "metastore: METASTORE_LOCATIONS is not a setting: did you mean METASTORE_ALLOWED_LOCATIONS?\n"
    assert capsys.readouterr().err == text


def test_variables_of_kubernetes_and_of_other_readers_are_no_errors() -> None:
    others = {"METASTORE_URI": "thrift://a:1", "METASTORE_CLIENT_USER": "u", "METASTORE_TEST_X": "1", "METASTORE_X": ""}
    Settings.load({}, KUBERNETES | others)
    Credentials.from_environment(KUBERNETES | others)


def test_the_client_rejects_an_unknown_variable() -> None:
    with pytest.raises(CredentialsError, match=r"^METASTORE_CLIENT_PASWORD is not .* METASTORE_CLIENT_PASSWORD[?]$"):
        Credentials.from_environment({"METASTORE_CLIENT_PASWORD": "secret"})


def test_variables_of_all_options_are_known() -> None:
    known = {variable(name) for name in OF_COMMANDS}
    for parameter in _parameters(metastore):
        if isinstance(name := parameter.envvar, str) and name.startswith(PREFIX) and name not in known:
            assert name in {variable(each) for each in Settings.__dataclass_fields__} | {variable("config")}


def _parameters(command: click.Command) -> list[click.Parameter]:
    below = command.commands.values() if isinstance(command, click.Group) else ()
    return [*command.params, *(parameter for each in below for parameter in _parameters(each))]
