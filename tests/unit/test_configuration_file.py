"""The configuration file: precedence, forms of values, and the one line that names the file, the key and the fix."""

from __future__ import annotations

import tomllib
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metastore.cli import config
from metastore.cli.commands import run
from metastore.errors import ConfigurationError
from metastore.settings import Settings

COMPLETE = """
[server]
port = 9085
listeners = ["127.0.0.1:1", "127.0.0.1:2?tls=off"]

[authorization]
admins = ["root", "@ops"]
read_only = true

[limits]
memory_limit = "1GiB"

[retention]
drop_retention = "7d"
event_retention = 3600

[advanced]
read_timeout = 0.5
min_transfer_rate = 1024
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "metastore.toml"


def load(file: Path, text: str, **options: str) -> Settings:
    file.write_text(text)
    return Settings.load({"config": file, **options}, {})


def test_values_have_the_forms_of_toml(file: Path) -> None:
    settings = load(file, COMPLETE)
    assert (settings.port, settings.read_only, settings.memory_limit) == (9085, True, 2**30)
    assert (settings.listeners, settings.admins) == ("127.0.0.1:1 127.0.0.1:2?tls=off", "root,@ops")
    assert (settings.drop_retention, settings.event_retention) == (604_800, 3600)
    assert (settings.read_timeout, settings.min_transfer_rate) == (0.5, 1024)


def test_options_win_over_variables_and_variables_over_the_file(file: Path) -> None:
    file.write_text("[server]\nport = 1\nhttp_port = 2\nworkers = 3\n")
    environment = {"METASTORE_CONFIG": str(file), "METASTORE_HTTP_PORT": "20", "METASTORE_WORKERS": "30"}
    settings = Settings.load({"workers": "7"}, environment)
    assert (settings.port, settings.http_port, settings.workers) == (1, 20, 7)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[server]\nprt = 1", "[server] has no setting 'prt'; write port in [server]"),
        ("[limits]\npool_size = 1", "[limits] has no setting 'pool_size'; it belongs to [database]"),
        ("[servr]\nport = 1", "'servr' is an unknown table; write [server]"),
        ("port = 1", "'port' is an unknown setting outside a table; it belongs to [server]"),
        ("[tls.more]\nx = 1", "[tls] has no setting 'more'"),
        ('[server]\nport = "1"', "port in [server] of FILE is '1'; it must be a whole number, without quotes"),
        ("[server]\nport = true", "port in [server] of FILE is true; it must be a whole number"),
        ("[server]\nport = 70000", "port in [server] of FILE is 70000; it must be from 0 to 65535"),
        ("[server]\nhost = 1", "host in [server] of FILE is 1; it must be a text"),
        ("[authorization]\nadmins = [1]", "admins in [authorization] of FILE is [1]; it must be a text or an array"),
        ('[authorization]\nread_only = "yes"', "it must be true or false, without quotes"),
        ('[limits]\nmemory_limit = "lots"', "is 'lots'; it must be a size, such as 400MiB"),
        ('[limits]\nmemory_limit = "1MiB"', "is 1MiB; it must be 150MiB or more"),
        ("[advanced]\nread_timeout = -1", "is -1; it must be a time, such as 30s"),
        ("[advanced]\nread_timeout = inf", "it must be a time, such as 30s"),
        ("[advanced]\nread_timeout = 2026-01-01", 'is "2026-01-01"; it must be a time, such as 30s'),
        ('[database]\ndatabase_url = "mysql://a:secret@h"', "database_url in [database] of FILE: database URL"),
        ("[server", "FILE is not valid TOML"),
        ("\x00", "FILE is not valid TOML"),
    ],
)
def test_an_error_names_file_key_and_fix(file: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        load(file, text)
    error = str(raised.value)
    assert message.replace("FILE", str(file)) in error
    assert str(file) in error
    assert "secret" not in error
    assert "\n" not in error


@given(st.binary(max_size=60))
def test_rubbish_is_a_configuration_error(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    file = tmp_path_factory.mktemp("rubbish") / "metastore.toml"
    file.write_bytes(content)
    with suppress(ConfigurationError):
        Settings.load({"config": file}, {})


def test_contradictions_name_their_source(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text('[tls]\ntls = "required"\n')
    assert run(["config", "check", "--config", str(file)]) == 1
    assert capsys.readouterr().err == (
        f"metastore: tls=required needs tls_certificate, the server's certificate (tls in [tls] of {file})\n"
    )


def test_check_warns_of_readable_passwords(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text('[database]\ndatabase_url = "postgresql://a:secret@h/d"\n')
    file.chmod(0o644)
    assert run(["config", "check", "--config", str(file)]) == 0
    warnings = capsys.readouterr().err
    assert f"chmod o-r {file}" in warnings


def test_the_shown_configuration_can_be_read_again(file: Path, tmp_path: Path) -> None:
    file.write_text(COMPLETE)
    shown = config.show({"config": file}, changed=False)
    again = tmp_path / "again.toml"
    assert load(again, shown) == Settings.load({"config": file}, {})
    assert "port = 9085  # port in [server] of" in shown
    assert "max_threads = 64  # default" in shown
    assert "max_calls_per_address = 48  # derived" in shown


def test_shown_passwords_are_hidden(file: Path) -> None:
    file.write_text('[database]\ndatabase_url = "postgresql://a:secret@h/d?password=secret"\n')
    shown = config.show({"config": file}, changed=True)
    assert tomllib.loads(shown) == {"database": {"database_url": "postgresql://a:***@h/d?password=***"}}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[authorization]\nauthorization = "opa"\n', "authorization=opa needs opa_url"),
        (
            '[authorization]\nauthorization = "opa"\nopa_url = "http://u:secret@127.0.0.1/v1"\n',
            "opa_url has a user or password, which the server cannot send",
        ),
        ('[authorization]\naudit_stream = "syslog:/dev/log"\n', "audit_stream needs audit=log"),
        ('[authorization]\naudit = "log"\naudit_stream = "gopher://x"\n', "audit_stream 'gopher://x' must be file:"),
    ],
)
def test_check_finds_errors_that_would_stop_a_server(
    file: Path, text: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(text)
    assert run(["config", "check", "--config", str(file)]) == 1
    assert said in capsys.readouterr().err


def test_check_opens_no_audit_file(file: Path, tmp_path: Path) -> None:
    audit = tmp_path / "audit.json"
    file.write_text(f'[authorization]\naudit = "log"\naudit_stream = "file:{audit}"\n')
    assert run(["config", "check", "--config", str(file)]) == 0
    assert not audit.exists()
