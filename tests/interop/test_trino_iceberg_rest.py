"""Trino with Iceberg tables by REST, as docs/how-to/iceberg-rest.md says, beside its connector by Thrift."""

from __future__ import annotations

import json
import re
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from tests.interop import trino_rest_statements as rest
from tests.interop import trino_statements as statements
from tests.interop.java import java_home
from tests.interop.maven import UnavailableError
from tests.interop.report import Report
from tests.interop.trino import LEAST_JAVA, MOST_JAVA, VERSION, Trino, TrinoError, running_trino
from tests.interop.trino_statements import Script
from tests.wire.builders import unique
from tests.wire.console.conftest import Console
from tests.wire.console.conftest import password_file as password_file
from tests.wire.iceberg.conftest import console as console
from tests.wire.iceberg.test_secured import Secured
from tests.wire.iceberg.test_secured import own_authority as own_authority
from tests.wire.iceberg.test_secured import secured as secured
from tests.wire.security.conftest import Authority
from tests.wire.security.test_jwt import Issuer

PAGE = Path(__file__).parents[2] / "docs/how-to/iceberg-rest.md"
GROUPS = rest.tables, rest.columns, rest.time_travel, rest.views, rest.registration, rest.refusals
URI = "iceberg.rest-catalog.uri"
TOKEN = "iceberg.rest-catalog.oauth2.token"
PROVIDER = "iceberg.rest-catalog.oauth2.server-uri"


def properties(number: int, url: str) -> dict[str, str]:
    """Returns the properties of the page's section about Trino, of the first block and another, with this address."""
    section = PAGE.read_text().partition("\n## Trino\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"```properties\n(.*?)```", section, re.DOTALL)
    lines = [line.split("=", 1) for block in (blocks[0], blocks[number]) for line in block.splitlines()]
    return {name: re.sub("https?://localhost:9180", url, value) for name, value in lines}


@pytest.fixture(scope="module")
def provider(issuer: Issuer) -> Iterator[tuple[str, list[dict[str, list[str]]]]]:
    """An identity provider that gives tokens of alice. Yields its address, and the forms that it has received."""
    asked: list[dict[str, list[str]]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(parse_qs(self.rfile.read(int(self.headers["content-length"])).decode()))
            answer = {"access_token": issuer.token("alice"), "token_type": "Bearer", "expires_in": 600}
            body = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/token", asked
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def trino(
    console: Console,
    secured: Secured,
    issuer: Issuer,
    provider: tuple[str, list[dict[str, list[str]]]],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Trino]:
    folder = tmp_path_factory.mktemp("trino")
    lake, token = properties(0, console.url), properties(1, secured.url)
    catalogs = {
        "lake": lake | {"iceberg.register-table-procedure.enabled": "true"},
        "nested": lake | {"iceberg.rest-catalog.nested-namespace-enabled": "true"},
        "insensitive": lake | {"iceberg.rest-catalog.case-insensitive-name-matching": "true"},
        "thrift": {"connector.name": "iceberg", "hive.metastore.uri": console.server.uri, "fs.hadoop.enabled": "true"},
        "token": token | {TOKEN: issuer.token("alice")},
        "nobody": token | {TOKEN: issuer.token("alice", aud="another")},
        "users": token | {TOKEN: issuer.token("alice"), "iceberg.rest-catalog.session": "USER"},
        "provided": properties(2, secured.url) | {PROVIDER: provider[0]},
        "certificate": properties(0, secured.url),
    }
    try:
        with running_trino(folder, catalogs, *stores(secured.authority, folder)) as actual:
            yield actual
    except UnavailableError as error:
        pytest.skip(str(error))


def stores(authority: Authority, folder: Path) -> list[str]:
    """Makes Java's stores of the page: of the authority, and of carol's certificate. Returns their options."""
    pem, text = authority.issue("carol.example", user="carol"), PAGE.read_text()  # Java needs a name
    names = {"ca.pem": authority.pem, "me.pem": pem.chain, "me.key": pem.key}
    names |= {name: folder / name for name in ("ca.p12", "me.p12")}
    for program, path in (("keytool", java_home(LEAST_JAVA, MOST_JAVA) / "bin"), ("openssl", Path())):
        command = re.search(rf"^{program} .*$", text, re.MULTILINE)
        assert command
        words = [str(names.get(word, word)) for word in command[0].split()]
        subprocess.run([path / program, *words[1:]], check=True, capture_output=True, timeout=60)
    return [option.replace("/etc/trino", str(folder)) for option in re.findall(r"^-Djavax.*$", text, re.MULTILINE)]


@pytest.mark.timeout(1800)
def test_statements_by_rest(trino: Trino, new_report: Callable[[str], Report]) -> None:
    report = new_report(f"Trino {VERSION} by Iceberg REST")
    also = {"nested": (rest.tables,), "insensitive": (rest.tables, rest.views)}
    for catalog, groups in ({"lake": GROUPS} | also).items():
        script = Script(trino, report, catalog, unique(catalog))
        for group in (statements.schemas, *groups, statements.end):
            script.group = f"{catalog}, {group.__name__.replace('_', ' ')}"
            group(script)
    assert report.failures == []


@pytest.mark.timeout(1800)
def test_both_connectors_see_the_same_tables(trino: Trino, new_report: Callable[[str], Report]) -> None:
    report = new_report(f"Trino {VERSION} by Iceberg REST, beside Thrift")
    schema = unique("both")
    doors = [Script(trino, report, catalog, schema) for catalog in ("lake", "thrift")]
    for door in doors:
        door.group = f"beside, {door.catalog}"
    doors[0].do("CREATE SCHEMA {}")
    for number, (one, other) in enumerate([doors, doors[::-1]]):
        rest.shared(one, other, f"t{number}")
    rest.shared_views(*doors)
    rest.races(doors)
    doors[1].do("DROP SCHEMA {} CASCADE")
    doors[0].ask(f"SHOW SCHEMAS FROM lake LIKE '{schema}'")
    assert report.failures == []


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("catalog", "name"), [("token", "alice"), ("provided", "alice"), ("certificate", "carol")])
def test_all_users_have_the_rights_of_one(trino: Trino, secured: Secured, catalog: str, name: str) -> None:
    """Trino does not send the names of its users."""
    for user in ("alice", "bob"):
        assert trino.query(f"SELECT id FROM {catalog}.secured.shared", user=user) == [(1,)]
        assert trino.query(f"SHOW TABLES FROM {catalog}.secured", user=user) == [("shared",)]
        with pytest.raises(TrinoError, match=f"'{catalog}.secured.hidden' does not exist"):
            trino.query(f"SELECT id FROM {catalog}.secured.hidden", user=user)
    with pytest.raises(TrinoError, match=rf"user \[{name}\] does not have \[ALTER\]"):
        trino.query(f"INSERT INTO {catalog}.secured.shared VALUES (2, 'n2')")
    with pytest.raises(TrinoError, match="Failed to create namespace 'own'"):
        trino.query(f"CREATE SCHEMA {catalog}.own")
    assert f" {name} get_table" in secured.server.log.read_text()


@pytest.mark.timeout(1800)
def test_the_provider_is_asked_with_the_credential(
    trino: Trino, provider: tuple[str, list[dict[str, list[str]]]]
) -> None:
    trino.query("SHOW SCHEMAS FROM provided")
    form = {name: values for name, (values,) in provider[1][0].items()}
    wanted = {
        "grant_type": "client_credentials",
        "client_id": "<id>",
        "client_secret": "<secret>",
        "scope": "metastore",
    }
    assert form == wanted


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("catalog", "said"), [("nobody", "audience"), ("users", "Failed to list namespaces")])
def test_what_is_refused(trino: Trino, catalog: str, said: str) -> None:
    """A token for another audience; and tokens for each user, which the server does not issue."""
    with pytest.raises(TrinoError, match=said):
        trino.query(f"SHOW SCHEMAS FROM {catalog}")
