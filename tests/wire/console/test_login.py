"""Access to the console: loopback, sessions, credentials, forms of other sites."""

from __future__ import annotations

import base64
import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from metastore.security.passwords import PasswordFile
from tests.wire.console.conftest import ADMIN, LOW, PASSWORDS, Console
from tests.wire.console.visiting import Visitor

HEADERS = {
    "content-security-policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
}


def test_a_page_without_a_session_redirects_to_the_login_and_back(guarded: Console) -> None:
    visitor = guarded.visitor()
    reply = visitor.get("/?q=a%20b")
    assert (reply.status, reply.headers["location"]) == (303, "/login?next=/%3Fq%3Da%2520b")
    assert visitor.get(reply.headers["location"]).status == 200
    logged_in = visitor.post("/login", {"user": LOW, "password": PASSWORDS[LOW], "next": "/?q=a%20b"})
    assert (logged_in.status, logged_in.headers["location"]) == (303, "/?q=a%20b")
    cookie = logged_in.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    page = visitor.get("/?q=a%20b")
    assert page.status == 200
    assert HEADERS.items() <= page.headers.items()
    assert visitor.post("/logout", {}).status == 303
    assert visitor.get("/").status == 303


def test_scripts_send_credentials_with_each_request(guarded: Console) -> None:
    visitor = guarded.visitor()
    basic = base64.b64encode(f"{LOW}:{PASSWORDS[LOW]}".encode()).decode()
    assert visitor.get("/?format=json", Authorization=f"Basic {basic}").status == 200
    for wrong in ("Basic !", "Basic YTpi", "Bearer x", "Digest x"):
        reply = visitor.get("/?format=json", Authorization=wrong)
        assert (reply.status, list(reply.data)) == (401, ["error"]), wrong
    reply = visitor.get("/?format=json")
    assert (reply.status, reply.headers["www-authenticate"]) == (401, 'Basic realm="metastore", Bearer')


@pytest.mark.parametrize(
    "headers", [{"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "http://127.0.0.1:1"}]
)
def test_forms_of_other_sites_are_rejected(guarded: Console, headers: dict[str, str]) -> None:
    visitor = guarded.visitor()
    assert visitor.post("/login", {"user": LOW, "password": PASSWORDS[LOW]}, **headers).status == 403
    assert not visitor.cookies
    without = visitor.send("POST", "/logout", "", {"Content-Type": "application/x-www-form-urlencoded"})
    assert without.status == 403


@pytest.mark.parametrize("rest", [b"Transfer-Encoding: chunked\r\n\r\nno chunk\r\n", b"Content-Length: 9\r\n\r\nuser"])
def test_a_form_that_breaks_off_leaves_no_traceback_in_the_log(guarded: Console, rest: bytes) -> None:
    address = urlsplit(guarded.url)
    host = f"{address.hostname}:{address.port}"
    with socket.create_connection((address.hostname, address.port), 20) as client:
        client.sendall(f"POST /login HTTP/1.1\r\nHost: {host}\r\nOrigin: {guarded.url}\r\n".encode() + rest)
        client.shutdown(socket.SHUT_WR)
        while client.recv(1000):
            pass
    assert guarded.visitor().get("/login").status == 200  # the server has noticed
    assert "Traceback" not in guarded.server.log.read_text()


@pytest.mark.parametrize("target", ["//evil.example", "https://evil.example/", "/\\evil.example", "", "/a\nb"])
def test_a_login_does_not_redirect_to_another_site(guarded: Console, target: str) -> None:
    reply = guarded.visitor().post("/login", {"user": LOW, "password": PASSWORDS[LOW], "next": target})
    assert reply.headers["location"] == "/"


def test_guesses_are_delayed_and_recorded(guarded: Console) -> None:
    visitor = guarded.visitor()
    texts = [visitor.log_in("guessed", f"wrong {number}").text for number in range(7)]
    assert "the user is unknown or the password is wrong" in texts[0]
    assert "Too many failed logins of this user" in texts[-1]
    assert "user='guessed'" in guarded.server.log.read_text()


def test_a_session_ends_with_its_password(guarded: Console, password_file: Path) -> None:
    visitor = guarded.visitor()
    assert visitor.log_in("reader", PASSWORDS["reader"]).status == 303
    assert visitor.get("/").status == 200
    PasswordFile(password_file).add("reader", "another password")
    assert visitor.get("/").status == 303
    PasswordFile(password_file).add("reader", PASSWORDS["reader"])


def test_a_session_ends_with_its_user(guarded: Console, password_file: Path) -> None:
    PasswordFile(password_file).add("leaver", "a password")
    visitor = guarded.visitor()
    assert visitor.log_in("leaver", "a password").status == 303
    assert visitor.get("/").status == 200
    PasswordFile(password_file).remove("leaver")
    assert visitor.get("/").status == 303


def test_a_login_replaces_the_session_before(guarded: Console) -> None:
    """An attacker may have put a session of his own into the browser (session fixation)."""
    visitor = guarded.visitor()
    assert visitor.log_in(LOW, PASSWORDS[LOW]).status == 303
    fixed = Visitor(guarded.url, cookies=dict(visitor.cookies))
    assert visitor.log_in(ADMIN, PASSWORDS[ADMIN]).status == 303
    assert visitor.cookies != fixed.cookies
    assert fixed.get("/").status == 303
    invented = Visitor(guarded.url, cookies=dict.fromkeys(visitor.cookies, "invented"))
    assert invented.get("/").status == 303


def test_a_foreign_host_name_is_rejected(guarded: Console) -> None:
    reply = guarded.visitor(ADMIN).get("/", Host="rebound.example")
    assert reply.status == 403


def test_an_open_console_needs_no_login_on_loopback(console: Console) -> None:
    page = console.visitor().get("/")
    assert page.status == 200
    assert HEADERS.items() <= page.headers.items()
    assert "Traceback" not in page.text


def test_an_unknown_address_has_an_error_page(console: Console) -> None:
    visitor = console.visitor()
    reply = visitor.get("/nowhere")
    assert (reply.status, "This address has no page" in reply.text) == (404, True)
    assert visitor.get("/nowhere?format=json").data == {"error": "This address has no page"}
    assert visitor.send("POST", "/", "", {}).status == 405
    assert visitor.get("/static/console.css").status == 200
    assert visitor.get("/static/../application.py").status == 404


def test_a_visitor_of_another_host_needs_authentication(console: Console) -> None:
    """The rule is about the server's address, so a unit test covers other hosts; this one covers the text."""
    assert Visitor(console.url).get("/login").status == 200
