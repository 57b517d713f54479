"""Who may look at calls, which name users and tables."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from metastore.monitoring.pages import Pages


@pytest.mark.parametrize(
    ("private", "is_local", "status"), [(True, False, 403), (True, True, 200), (False, False, 200)]
)
@pytest.mark.parametrize("path", ["/calls/now", "/calls/slow?x"])
def test_where_there_are_rights_calls_are_shown_to_this_machine(
    path: str, private: bool, is_local: bool, status: int
) -> None:
    board = cast(Any, SimpleNamespace(workers=list))
    pages = Pages(board, dict, dict, hive_names=False, private=private)
    assert pages.page(path, is_local=is_local)[0] == status
    assert pages.page("/missing", is_local=is_local)[0] == 404
