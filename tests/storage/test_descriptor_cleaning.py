"""Storage descriptors are deleted only when nothing refers to them, even if they are looked up at the same time."""

from __future__ import annotations

from functools import partial

import pytest
from sqlalchemy import text

from metastore.app.worker import Application
from metastore.services import descriptor_cleaning
from metastore.services.descriptor_cleaning import DescriptorCleaningService
from metastore.storage.repositories.shared_descriptors import SHARED
from metastore.storage.verification.verify import verify
from tests.fixtures.application import called
from tests.fixtures.database import execute
from tests.wire.builders import columns, descriptor, partition, skewed, table
from thrift_idl.gen.hive_metastore.ttypes import Database, Table

_OVER = "UPDATE drops SET kept_until = '2000-01-01'"


@pytest.fixture
def cleaning(application: Application) -> DescriptorCleaningService:
    called(application, "create_database", Database("db"))
    return DescriptorCleaningService(application._store)


def forget_drops(application: Application) -> None:
    """Purges dropped objects, so that they cannot be restored."""
    execute(application._store._engine.url.render_as_string(hide_password=False), _OVER)
    application.services.undrop.purge()


def counts(application: Application) -> list[int]:
    with application._store._engine.connect() as connection:
        return [connection.scalar(text(f"SELECT count(*) FROM {kind}")) or 0 for kind in SHARED]


def shaped(name: str, column: str) -> Table:
    info = skewed(["a"], [["1"], ["2"]])
    shape = descriptor(cols=columns(("a", "int"), (column, "string")), skewedInfo=info, compressed=True)
    return table("db", name, [("ds", "string")], sd=shape)


def verified(application: Application) -> bool:
    return not any(each.wrong for each in verify(application._store._engine, 10))


def test_unused_descriptors_are_removed_in_two_steps(
    application: Application, cleaning: DescriptorCleaningService
) -> None:
    call = partial(called, application)
    call("create_table", shaped("kept", "x"))
    before = counts(application)
    call("create_table", shaped("t", "y"))
    call("drop_table", "db", "t", True)
    forget_drops(application)
    assert counts(application) == [before[0] + 1, before[1] + 1, *before[2:]]
    assert cleaning.run() == 0, "those that have found it may be about to use it"
    assert verified(application)
    assert cleaning.run() == 1
    assert cleaning.run() == 1, "its columns"
    assert counts(application) == before
    assert cleaning.run() == 0
    assert verified(application)


def test_descriptors_used_only_by_partitions_stay(
    application: Application, cleaning: DescriptorCleaningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(descriptor_cleaning, "_LEAST", 0.0)
    monkeypatch.setattr(descriptor_cleaning, "_SHARE", 0)
    call = partial(called, application)
    call("create_table", shaped("t", "x"))
    call("add_partition", partition("db", "t", ["1"], sd=shaped("t", "x").sd))
    call("alter_table", "db", "t", shaped("t", "other"))
    for _ in range(3):
        assert cleaning.run() == 0
    before = counts(application)
    call("drop_partition", "db", "t", ["1"], True)
    assert cleaning.run() == 0, "it may come back"
    forget_drops(application)
    assert [cleaning.run() for _ in range(3)] == [0, 1, 1]
    assert counts(application) == [before[0] - 1, before[1] - 1, *before[2:]]


def test_a_writer_may_use_a_descriptor_that_it_found_before_the_retirement(
    application: Application, cleaning: DescriptorCleaningService
) -> None:
    call = partial(called, application)
    call("create_table", shaped("t", "x"))
    call("drop_table", "db", "t", True)
    forget_drops(application)
    with application._store.transaction() as writer:
        writer.connection.execute(text("SELECT id FROM storage_descriptors"))  # changes nothing yet
        cleaning.run()
        for _ in range(3):
            assert cleaning.run() == 0
    assert cleaning.run() == 1


def test_descriptors_used_again_are_found_again(application: Application, cleaning: DescriptorCleaningService) -> None:
    call = partial(called, application)
    call("create_table", shaped("t", "x"))
    call("create_table", shaped("u", "y"))
    with application._store._engine.connect() as connection:
        used = connection.execute(text("SELECT descriptor_id FROM tables WHERE name = 't'")).scalar_one()
    call("drop_table", "db", "t", True)
    forget_drops(application)
    cleaning.run()
    with application._store._engine.connect() as connection:  # as a transaction that read it earlier
        connection.execute(text("UPDATE tables SET descriptor_id = :used WHERE name = 'u'"), {"used": used})
    assert cleaning.run() == 0
    with application._store._engine.connect() as connection:
        connection.execute(text("UPDATE tables SET name = 'gone' WHERE name = 'u'"))
        call("create_table", shaped("again", "x"))
        actual = connection.execute(text("SELECT descriptor_id FROM tables WHERE name = 'again'")).scalar_one()
    assert actual == used


def test_a_shape_is_used_again_while_it_is_retired(
    application: Application, cleaning: DescriptorCleaningService
) -> None:
    call = partial(called, application)
    call("create_table", shaped("t", "x"))
    call("drop_table", "db", "t", True)
    forget_drops(application)
    cleaning.run()
    call("create_table", shaped("t", "x"))
    assert verified(application)
    for _ in range(4):
        cleaning.run()
    assert counts(application) == [1, 1, 1, 1]
    assert call("get_table", "db", "t").decode().sd.cols[1].name == "x"
    assert verified(application)
