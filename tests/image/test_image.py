"""Checks the Dockerfile and docker-compose.yml without running them. `make image-steps` runs the image."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml

from metastore.cli.commands import metastore
from metastore.settings import PREFIX, Settings

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
SETTINGS = {PREFIX + field.name.upper() for field in fields(Settings)}


@pytest.fixture(scope="module")
def compose() -> Any:
    return yaml.safe_load((ROOT / "docker-compose.yml").read_text())


def check_schema(file: Path) -> subprocess.CompletedProcess[str]:
    """Checks a file against the schema of the Compose specification, which comes with check-jsonschema."""
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_compose_file_matches_the_schema() -> None:
    result = check_schema(ROOT / "docker-compose.yml")
    assert result.returncode == 0, result.stdout


def test_the_schema_rejects_a_misspelt_key(tmp_path: Path) -> None:
    broken = tmp_path / "docker-compose.yml"
    broken.write_text((ROOT / "docker-compose.yml").read_text().replace("healthcheck:", "healthchek:"))
    assert "healthchek" in check_schema(broken).stdout


def test_every_service_starts_again_with_its_host(compose: Any) -> None:
    """A job that ends, such as the upgrade of the schema, is none."""
    services = {
        name: each for name, each in compose["services"].items() if each.get("command", ["serve"]) != ["db", "upgrade"]
    }
    assert {each["restart"] for each in services.values()} == {"unless-stopped"}


def test_every_variable_is_a_setting(compose: Any) -> None:
    named = set(re.findall(rf"\b({PREFIX}\w+)=", DOCKERFILE))
    for service in compose["services"].values():
        named |= {name for name in service["environment"] if name.startswith(PREFIX)}
    assert named
    assert named <= SETTINGS


def test_every_command_exists(compose: Any) -> None:
    run = [service["command"] for service in compose["services"].values() if "command" in service]
    run += [check.split('"')[3:-1:2] for check in re.findall(r"^HEALTHCHECK .*CMD (.+)$", DOCKERFILE, re.MULTILINE)]
    run.append(re.findall(r'^CMD \["(\w+)"\]$', DOCKERFILE, re.MULTILINE))
    assert len(run) == 3
    for words in run:
        command: Any = metastore
        for word in words:
            command = command.commands[word]


def test_dependencies_and_volumes_of_services_exist(compose: Any) -> None:
    services = compose["services"]
    for service in services.values():
        for name, wanted in service.get("depends_on", {}).items():
            assert name in services
            assert wanted["condition"] != "service_healthy" or "healthcheck" in services[name]
    mounted = {text.partition(":")[0] for service in services.values() for text in service.get("volumes", [])}
    assert mounted == set(compose["volumes"])


def test_calls_in_flight_have_time_to_finish(compose: Any) -> None:
    """Docker kills a container at the end of its grace period."""
    graces = [service["stop_grace_period"] for name, service in compose["services"].items() if "metastore" in name]
    assert len(graces) == 2
    assert all(float(grace.removesuffix("s")) > Settings.drain_timeout for grace in graces)


def test_the_image_copies_every_package() -> None:
    build = runpy.run_path(str(ROOT / "setup.py"))
    packages = (*build["PACKAGES"], *build["INSIDE"])
    copied = re.findall(r"^COPY (\w+) \1$", DOCKERFILE, re.MULTILINE)
    assert sorted(copied) == sorted(packages)


def test_the_tests_run_on_the_python_of_the_image() -> None:
    """`scripts/set-up` uses that version if it is installed."""
    base = re.search(r"^FROM python:(\d+)\.(\d+)-", DOCKERFILE, re.MULTILINE)
    assert base
    image, running = (int(base[1]), int(base[2])), sys.version_info[:2]
    if image != running:
        pytest.skip(f"The image has Python {image}, these tests run on {running}. Install it and recreate the .venv")


def test_every_dependency_of_the_image_is_pinned() -> None:
    """Every package that the server needs has one version, with its hashes."""
    lock = (ROOT / "requirements.lock").read_text()
    pinned = dict(
        re.findall(r"^([\w.-]+)==(\S+) \\$\n(?:    --hash=sha256:[0-9a-f]{64}(?: \\$\n)?)+", lock, re.MULTILINE)
    )
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    for requirement in [
        *project["dependencies"],
        *(extra for name in ("server", "s3", "jwt", "ldap", "kafka") for extra in extras[name]),
    ]:
        assert re.split(r"[\[<>=]", requirement)[0].lower() in pinned
    assert len(pinned) == lock.count("==")
    assert "--require-hashes -r requirements.lock" in DOCKERFILE


def test_compose_has_no_default_password_and_listens_on_localhost_only(compose: Any) -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    assert "POSTGRES_PASSWORD:-" not in text
    ports = [port for service in compose["services"].values() for port in service.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)
