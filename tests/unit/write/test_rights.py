"""The check of rights before Spark's own writers: errors that do not concern rights."""

from __future__ import annotations

from typing import Any

import pytest

from metastore.client.structs import WriteLease
from spark_client.errors import MetastoreRefusedError, NoSuchWriteError, PermissionDeniedError
from spark_client.write.rights import check_write

FORWARDS = (
    "sales belongs to thrift://old:9083 until metastore import switch. begin_write is not forwarded: call thrift://old"
)


class Metastore:
    """Answers begin_write and end_write with these errors."""

    def __init__(self, begins: Exception | None = None, ends: Exception | None = None) -> None:
        self.begins, self.ends = begins, ends
        self.calls: list[Any] = []

    def begin_write(self, *arguments: Any, overwrites: bool) -> WriteLease:
        self.calls.append((*arguments, overwrites))
        if self.begins:
            raise self.begins
        return WriteLease("token-1", 60.0, None)

    def end_write(self, query_id: str) -> None:
        self.calls.append(query_id)
        if self.ends:
            raise self.ends


@pytest.mark.parametrize("ends", [None, NoSuchWriteError("it has ended")])
def test_the_write_is_ended(ends: Exception | None) -> None:
    metastore = Metastore(ends=ends)
    check_write(metastore, "d", "t", overwrite=True)  # type: ignore[arg-type]
    assert metastore.calls == [("d", "t", True), "token-1"]


def test_a_server_that_forwards_changes_has_checked_the_rights() -> None:
    check_write(Metastore(MetastoreRefusedError(FORWARDS)), "d", "t", overwrite=False)  # type: ignore[arg-type]
    for error in (PermissionDeniedError("Permission denied: …"), MetastoreRefusedError("This metastore is read-only")):
        with pytest.raises(MetastoreRefusedError, match=str(error)):
            check_write(Metastore(error), "d", "t", overwrite=False)  # type: ignore[arg-type]
