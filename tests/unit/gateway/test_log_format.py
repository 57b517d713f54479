"""Texts of users in the gateway's log."""

from __future__ import annotations

import logging

from spark_client.gateway.log_format import LogFormatter


def test_a_text_of_a_user_cannot_look_like_a_line_of_the_log() -> None:
    text = "login failed: \x1b[2J\u202e\r\n2026-01-01 INFO the driver of alice has started"
    line = LogFormatter("%(levelname)s %(message)s").format(
        logging.makeLogRecord({"msg": text, "levelname": "WARNING"})
    )
    first, second = line.split("\n")
    assert first == r"WARNING login failed: \x1b[2J\u202e\r"
    assert second == "  2026-01-01 INFO the driver of alice has started"
