"""An HTTP client that keeps cookies and follows no redirects."""

from __future__ import annotations

import http.client
import json
import ssl
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urlsplit


@dataclass(frozen=True)
class Reply:
    """A response."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def data(self) -> Any:
        return json.loads(self.text)


@dataclass
class Visitor:
    """A visitor of a console."""

    url: str
    tls: ssl.SSLContext | None = None
    cookies: dict[str, str] = field(default_factory=dict)

    @property
    def host(self) -> str:
        return urlsplit(self.url).netloc

    def get(self, path: str, **headers: str) -> Reply:
        return self.send("GET", path, None, headers)

    def json(self, path: str, **headers: str) -> Any:
        """Returns the JSON twin of a page. Fails unless the status is 200."""
        reply = self.get(path, **{"Accept": "application/json"} | headers)
        assert reply.status == 200, reply.text
        return reply.data

    def post(self, path: str, form: dict[str, str], **headers: str) -> Reply:
        given = {"Content-Type": "application/x-www-form-urlencoded", "Origin": self.url}
        return self.send("POST", path, urlencode(form), given | headers)

    def log_in(self, user: str, password: str) -> Reply:
        return self.post("/login", {"user": user, "password": password, "next": "/"})

    def send(self, method: str, path: str, body: str | None, headers: dict[str, str]) -> Reply:
        connection = (
            http.client.HTTPSConnection(self.host, timeout=60, context=self.tls)
            if self.tls
            else http.client.HTTPConnection(self.host, timeout=60)
        )
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        connection.request(method, path, body, headers | ({"Cookie": cookies} if cookies else {}))
        response = connection.getresponse()
        text = response.read().decode()
        for name, value in response.getheaders():
            if name.lower() == "set-cookie":
                cookie, _, _ = value.partition(";")
                key, _, secret = cookie.partition("=")
                self.cookies[key] = secret
        connection.close()
        return Reply(response.status, {name.lower(): value for name, value in response.getheaders()}, text)
