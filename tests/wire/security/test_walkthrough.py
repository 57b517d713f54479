"""Runs the commands of docs/how-to/kerberos.md as they are written there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.fixtures.server import Server

from .test_java import realm_tool

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "kerberos.md"


def blocks(port: int, folder: Path) -> list[str]:
    """Returns the commands of the section, each block as a script, for this host, realm and port, without root."""
    section = PAGE.read_text().partition("## Set up the server\n")[2].partition("\n## ")[0]
    scripts = re.findall(r"^```sh\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    places = {"metastore.example.com:9083": f"localhost:{port}", "metastore.example.com": "localhost"}
    places |= {"EXAMPLE.COM": "KRBTEST.COM", "/etc/metastore": str(folder), "0.0.0.0": "127.0.0.1"}
    for text, here in places.items():
        scripts = [script.replace(text, here) for script in scripts]
    return [re.sub(r"^(apt-get|pip) .*$", "", script, flags=re.MULTILINE) for script in scripts]


def ran(script: str, folder: Path) -> str:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}:/usr/sbin"
    done = subprocess.run(
        ["/bin/sh", "-e"],
        input=script,
        text=True,
        capture_output=True,
        cwd=folder,
        env={**os.environ, "PATH": path},
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_an_administrator_gets_there(
    start: Callable[..., Server], realm: Any, environment: Any, tmp_path: Path
) -> None:
    realm.run([realm_tool(realm), "-q", "delprinc -force hive/localhost@KRBTEST.COM"])
    keys, serving, _ = blocks(0, tmp_path / "etc")
    ran(keys, tmp_path)
    options = serving.replace("\\\n", " ").split()
    assert options[:4] == ["metastore", "serve", "--host", "127.0.0.1"]
    server = start(*options[2:])
    (tmp_path / "password").write_text("alice")
    asking = blocks(server.port, tmp_path / "etc")[2]
    said = ran(asking.replace("kinit alice\n", "kinit alice < password\n", 1), tmp_path)
    assert "Credentials accepted, as user alice" in said
    assert "FAILED" not in said
    assert "@engineers\tCREATE\tdefault\t\talice" in said
    assert "bob\tSELECT\t*\t\talice" in said
