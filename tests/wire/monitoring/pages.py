"""Requests to the HTTP port of a server."""

from __future__ import annotations

import re
import socket
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from prometheus_client.parser import text_string_to_metric_families

HTTP = re.compile(r"metrics on (https?://\S+)/metrics")


def page(url: str, **headers: str) -> str:
    with urlopen(Request(url, headers=headers), timeout=20) as reply:
        return str(reply.read().decode())


def status(url: str, **headers: str) -> int:
    try:
        page(url, **headers)
    except HTTPError as error:
        return error.code
    return 200


def refusal(url: str) -> str:
    """Returns the problem that the health page reports; empty if there is none."""
    try:
        page(url)
    except HTTPError as error:
        return f"{error.code}: {error.read().decode()}"
    return ""


def is_refused(url: str) -> bool:
    """Returns True if no server listens at the URL."""
    try:
        page(url)
    except HTTPError:
        return False
    except OSError:
        return True
    return False


def is_closed(connection: socket.socket) -> bool:
    """Waits for data. Returns True if the server has closed the connection, with or without reading its data."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def samples(url: str) -> dict[str, list[Any]]:
    """Returns all samples of /metrics by name. Fails if the text is not valid."""
    actual: dict[str, list[Any]] = {}
    for family in text_string_to_metric_families(page(f"{url}/metrics")):
        for sample in family.samples:
            actual.setdefault(sample.name, []).append(sample)
    return actual


def total(actual: dict[str, list[Any]], name: str, **labels: str) -> float:
    return sum(each.value for each in actual.get(name, []) if labels.items() <= each.labels.items())
