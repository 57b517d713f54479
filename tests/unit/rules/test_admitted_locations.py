"""Which locations a table and its partitions may have."""

from __future__ import annotations

import pytest

from metastore.errors import InvalidInputError
from metastore.services.rules.tables import admit_descriptors
from metastore.storage.mapping.descriptors import complete
from metastore.warehouse.roots import Roots
from tests.wire.builders import descriptor, skewed, table
from thrift_idl.gen.hive_metastore.ttypes import SkewedInfo, StorageDescriptor

ROOT = "/warehouse"
OWN = f"{ROOT}/db/t"


def located(location: str, skew: SkewedInfo | None = None) -> StorageDescriptor:
    return complete(descriptor(location, skewedInfo=skew))


@pytest.mark.parametrize("location", [f"{OWN}/ds=1", f"{OWN}/_versions/w/ds=1", f"{ROOT}/db/other/ds=1", OWN])
def test_partitions_of_managed_tables_may_be_anywhere_below_the_roots(location: str) -> None:
    admit_descriptors(Roots(ROOT), table("db", "t", sd=located(OWN)), [located(location)])


@pytest.mark.parametrize(
    "location",
    [
        f"{OWN}/../../../etc",  # begins with the table's location, and is outside of the roots
        f"{OWN}/ds=1/../../../../etc",
        f"{ROOT}/.metastore_trash/7/ds=1",
        "/etc",
    ],
)
def test_partitions_of_managed_tables_are_not_outside_of_the_roots_or_in_the_trash(location: str) -> None:
    with pytest.raises(InvalidInputError):
        admit_descriptors(Roots(ROOT), table("db", "t", sd=located(OWN)), [located(location)])


def test_a_table_at_a_root_does_not_own_the_trash_in_it() -> None:
    at_root = table("db", "t", sd=located(ROOT))
    with pytest.raises(InvalidInputError, match="where the server keeps dropped data"):
        admit_descriptors(Roots(ROOT), at_root, [located(f"{ROOT}/.metastore_trash/7/ds=1")])


def test_kept_locations_are_not_checked() -> None:
    admit_descriptors(Roots(ROOT), table("db", "t", sd=located(OWN)), [located("/etc")], ["/etc"])


def test_directories_of_skewed_values_may_be_outside_but_not_in_the_trash() -> None:
    skew = skewed(["x"], [["a"]])
    skew.skewedColValueLocationMaps = {("a",): "/mnt/elsewhere"}
    admit_descriptors(Roots(ROOT), table("db", "t", sd=located(OWN)), [located(OWN, skew)])
    skew.skewedColValueLocationMaps = {("a",): f"{ROOT}/.metastore_trash/7/x=a"}
    with pytest.raises(InvalidInputError):
        admit_descriptors(Roots(ROOT), table("db", "t", sd=located(OWN)), [located(OWN, skew)])
