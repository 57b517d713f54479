"""The authorization of a server without authorization answers every question itself, so that none reads privileges."""

from __future__ import annotations

import inspect

from metastore.services.authorization.authorization import Authorization
from metastore.services.authorization.everyone import Everyone

READS_NO_PRIVILEGES = {"for_call", "find", "beginnings"}


def test_every_question_is_overridden() -> None:
    questions = {name for name, _ in inspect.getmembers(Authorization, inspect.isfunction) if not name.startswith("_")}
    assert questions - vars(Everyone).keys() == READS_NO_PRIVILEGES
