"""Settings: environment variables, overrides, limits, and passwords that are never shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metastore.errors import ConfigurationError
from metastore.settings import Settings, database_url, safe_url


def read(**environment: str) -> Settings:
    return Settings.load(environment={f"METASTORE_{name}": value for name, value in environment.items()})


def test_defaults_are_complete() -> None:
    settings = read()
    assert (settings.host, settings.port) == ("127.0.0.1", 9083)
    assert settings.embedded
    assert settings.warehouse == str(settings.data_dir / "warehouse")


def test_environment_then_overrides() -> None:
    environment = {"METASTORE_PORT": "1234", "METASTORE_WORKERS": "3", "METASTORE_DATA_DIR": "/data"}
    settings = Settings.load({"port": 99, "workers": None}, environment)
    assert (settings.port, settings.workers, settings.data_dir) == (99, 3, Path("/data"))
    assert settings.warehouse == "/data/warehouse"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", "x"),
        ("PORT", "-1"),
        ("WORKERS", "0"),
        ("READ_TIMEOUT", "nan"),
        ("READ_TIMEOUT", "inf"),
        ("DATABASE_URL", "mysql://u:secret@h/d"),
        ("LOG_LEVEL", "loud"),
        ("AUTHORIZATION", "some"),
    ],
)
def test_a_bad_value_is_named(name: str, value: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        read(**{name: value})
    text = str(raised.value)
    assert name.lower().replace("_", " ").split()[0] in text.lower()
    assert "secret" not in text
    assert "\n" not in text


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("wh", str(Path("wh").absolute())),
        ("/wh", "/wh"),
        ("s3a://bucket/wh", "s3a://bucket/wh"),
        ("file:/wh", "file:/wh"),
    ],
)
def test_a_relative_warehouse_is_below_the_working_directory(given: str, used: str) -> None:
    assert read(WAREHOUSE=given).warehouse == used


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg2", "postgresql+asyncpg"])
def test_every_spelling_of_postgresql_gets_our_driver(scheme: str) -> None:
    assert database_url(f"{scheme}://u@h/d") == "postgresql+psycopg2://u@h/d"


@given(st.text(st.characters(codec="utf-8", exclude_characters="@/"), min_size=6).map(lambda tail: "pw_" + tail))
def test_a_password_is_never_shown(password: str) -> None:
    settings = Settings(database_url=f"postgresql://alice:{password}@host/db")
    assert password not in settings.safe_url
    assert password not in repr(settings)
    assert "alice" in settings.safe_url


def test_a_password_among_the_parameters_is_not_shown() -> None:
    assert safe_url("postgresql://h/d?user=a&password=secret&x=1") == "postgresql://h/d?user=a&password=***&x=1"


@pytest.mark.parametrize("url", ["alice:secret@h/d", "postgresql:/alice:secret@h/d", "postgresql:alice:secret@h/d"])
def test_a_password_in_a_malformed_url_is_not_shown(url: str) -> None:
    assert "secret" not in safe_url(url)


def test_user_without_a_home_needs_no_data_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError

    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    read(DATABASE_URL="postgresql://h/d", WAREHOUSE="/wh")
    with pytest.raises(ConfigurationError, match="METASTORE_DATA_DIR"):
        read(WAREHOUSE="/wh")
