"""Events of hidden objects cost a reader of some types few statements, and do not use up the size of its reply."""

from __future__ import annotations

import pytest

from metastore.errors import InvalidInputError
from metastore.services.authorization.events import HIDDEN, _of_visible_objects
from thrift_idl.gen.hive_metastore.ttypes import NotificationEvent

_EVENTS = 1000
_VISIBLE = (700, 701, 990)


class Log:
    """Events of which few are visible. A page of more than `largest` events is too large for a reply."""

    def __init__(self, largest: int = _EVENTS) -> None:
        self._largest = largest
        self.pages = 0

    def read(self, after: int, count: int | None) -> list[NotificationEvent]:
        self.pages += 1
        numbers = range(after + 1, min(after + (count or _EVENTS), _EVENTS) + 1)
        if len(numbers) > self._largest:
            raise InvalidInputError("request fewer events at once (maxEvents)")
        return [
            NotificationEvent(number, 0, "CREATE_TABLE" if number in _VISIBLE else HIDDEN, message="")
            for number in numbers
        ]


@pytest.mark.parametrize(("limit", "found"), [(1, 1), (2, 2), (50, 3), (None, 3)])
def test_hidden_events_cost_few_statements(limit: int | None, found: int) -> None:
    log = Log()
    events = _of_visible_objects(log.read, 0, limit)
    assert [event.eventId for event in events] == list(_VISIBLE[:found])
    assert log.pages <= 11


@pytest.mark.parametrize("largest", [5, 60])
def test_a_reader_that_requests_few_large_events_gets_them(largest: int) -> None:
    assert [event.eventId for event in _of_visible_objects(Log(largest).read, 0, 5)] == list(_VISIBLE)
    with pytest.raises(InvalidInputError, match="fewer events"):
        _of_visible_objects(Log(largest).read, 0, largest + 1)
