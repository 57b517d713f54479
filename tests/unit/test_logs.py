"""Log lines stay valid for any names that clients send."""

from __future__ import annotations

import json
import logging
import sys

import pytest

from metastore.monitoring.logs import CallLine, JsonFormatter, TextFormatter, one_line

NAMES = [
    "a\nb",
    "\r2026-11-22 ERROR forged",
    "\x1b[31m",
    "\u2028",
    "\udc80 alone",
    '"}',
    "\\",
    "\x00",
    "é" * 10**6,
    "\x85",
]


def record(message: str, *arguments: object, error: Exception | None = None) -> logging.LogRecord:
    actual = None
    if error is not None:
        try:
            raise error
        except type(error):
            actual = sys.exc_info()
    return logging.LogRecord("metastore.calls", logging.ERROR, "", 0, message, arguments, actual)


@pytest.mark.parametrize("name", NAMES, ids=lambda name: ascii(name[:10]))
def test_a_name_makes_neither_a_line_nor_another_object(name: str) -> None:
    fields = {"address": "127.0.0.1:1", "user": one_line(name), "method": one_line(name), "milliseconds": 1.0}
    counted = dict.fromkeys(("request", "connection", "client", "database", "waiting", "rows", "bytes", "outcome"), 1)
    line = CallLine({**fields, **counted, "object": one_line(name), "error": one_line(name)})
    for form in (JsonFormatter(), TextFormatter()):
        written = form.format(record("%s", line)).encode(errors="backslashreplace").decode()
        assert len(written.splitlines()) == 1
        assert len(written) < 8000
    written = JsonFormatter().format(record("%s", line)).encode(errors="backslashreplace").decode()
    assert json.loads(written)["milliseconds"] == 1.0


@pytest.mark.parametrize("name", NAMES, ids=lambda name: ascii(name[:10]))
def test_an_error_text_cannot_forge_a_line(name: str) -> None:
    written = TextFormatter().format(record("failed", error=ValueError(name)))
    first, *rest = written.encode(errors="backslashreplace").decode().splitlines()
    assert "metastore.calls" in first
    assert all(line.startswith("  ") for line in rest)
    assert len(written) < 40_000
    written = JsonFormatter().format(record("failed", error=ValueError(name)))
    assert "ValueError" in json.loads(written.encode(errors="backslashreplace"))["traceback"] or len(name) > 10_000
