"""Write ids of Hive's transactional tables after a restore do not recur, and rows of lost transactions are hidden."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metastore.domain.acid_directories import last_write_id
from tests.wire.restore.catalog import RestoredCatalog
from thrift_idl.gen.hive_metastore.ttypes import (
    AllocateTableWriteIdsRequest,
    CommitTxnRequest,
    GetValidWriteIdsRequest,
    OpenTxnRequest,
)


@pytest.fixture
def catalog(make_database: Callable[..., str], tmp_path: Path) -> Iterator[RestoredCatalog]:
    catalog = RestoredCatalog(make_database, tmp_path)
    yield catalog
    catalog.close()


def write(catalog: RestoredCatalog, name: str) -> tuple[int, int]:
    """Commits a transaction with one directory of rows. Returns the ids of transaction and write."""
    (transaction,) = catalog.call("open_txns", OpenTxnRequest(1, "me", "here")).txn_ids
    request = AllocateTableWriteIdsRequest("db", name, [transaction])
    (allocated,) = catalog.call("allocate_table_write_ids", request).txnToWriteIds
    number = allocated.writeId
    folder = catalog.warehouse / "db.db" / name / f"delta_{number:07}_{number:07}_0000"
    folder.mkdir(parents=True)
    (folder / "part-0").write_text(f"{name} {number}")
    catalog.call("commit_txn", CommitTxnRequest(transaction))
    return transaction, number


def valid(catalog: RestoredCatalog, name: str) -> tuple[int, set[int]]:
    """Returns the high watermark, and the ids below that readers must skip."""
    (ids,) = catalog.call("get_valid_write_ids", GetValidWriteIdsRequest([f"db.{name}"])).tblValidWriteIds
    return ids.writeIdHighWaterMark, set(ids.invalidWriteIds)


def test_rows_of_lost_transactions_are_hidden_and_their_ids_do_not_recur(catalog: RestoredCatalog) -> None:
    for name in ("one", "two", "idle"):
        catalog.create(name)
        write(catalog, name)
    write(catalog, "two")
    file = catalog.back_up()
    lost = [write(catalog, "one"), write(catalog, "one"), write(catalog, "two")]
    before = catalog.contents()
    catalog.restore(file)
    assert catalog.command("restored", "--warehouse", str(catalog.warehouse)) == 0
    assert catalog.contents() == before
    assert valid(catalog, "one") == (3, {2, 3})
    assert valid(catalog, "two") == (3, {3})
    assert valid(catalog, "idle") == (1, set())
    catalog.background()
    assert valid(catalog, "one") == (3, {2, 3})
    transaction, number = write(catalog, "one")
    assert number == 4
    assert transaction > max(each for each, _ in lost)
    assert catalog.command("restored", "--warehouse", str(catalog.warehouse)) == 0  # again
    assert valid(catalog, "one") == (4, {2, 3})


def test_names_of_directories() -> None:
    names = ["base_0000004", "delta_5_7", "delete_delta_0000008_0000009_0001", "delta_2_2_v99", "base_3_v100", "x_77"]
    assert last_write_id(names) == 9
    assert last_write_id([]) == 0
    assert last_write_id(["delta_1", "delta_1_2_3_4", "base_x", "_delta_5_5"]) == 0


@given(st.lists(st.text("bdelta_0123v", max_size=20)))
def test_any_names_are_read(names: list[str]) -> None:
    assert last_write_id(names) >= 0
