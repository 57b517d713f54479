"""Compares the wire contract in Hive's generated Java code with ours."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from typing import Any

from py4j.java_gateway import get_field
from thrift.Thrift import TType

from tests.interop.hive.client import Hive
from thrift_idl.gen.hive_metastore import ThriftHiveMetastore, ttypes

GROUP = "contract"
PACKAGE = "org/apache/hadoop/hive/metastore/api/"
ENUMS = 16, -1
ON_PURPOSE = {("create_ischema_result", -1)}  # an error in Hive 3.1: the exception has no number


def check(hive: Hive, class_path: str) -> None:
    """Every struct, field and method of Hive is in ours, with the same number and type."""
    unknown: list[str] = []
    count = 0
    for struct, fields in _structs(hive, class_path):
        ours = _ours(struct)
        count += 1
        if ours is None:
            unknown.append(struct)
            continue
        for number, name, kind in fields:
            if ours.get(number) != kind and (struct, number) not in ON_PURPOSE:
                unknown.append(f"{struct}.{number}:{name} is {kind}, ours {ours.get(number)}")
    with hive.attempt(GROUP, f"{count} structs"):
        assert count > 500, count
        assert not unknown, unknown


def _structs(hive: Hive, class_path: str) -> Iterator[tuple[str, list[tuple[int, str, int]]]]:
    jvm = hive.gateway.jvm
    metadata = jvm.org.apache.thrift.meta_data.FieldMetaData
    struct = jvm.java.lang.Class.forName("org.apache.thrift.TBase")
    for name in _classes(class_path):
        actual = jvm.java.lang.Class.forName(name)
        if struct.isAssignableFrom(actual):
            fields = metadata.getStructMetaDataMap(actual)
            yield name.rpartition("$")[2].rpartition(".")[2], [_field(entry) for entry in fields.entrySet()]


def _field(entry: Any) -> tuple[int, str, int]:
    kind = int(get_field(get_field(entry.getValue(), "valueMetaData"), "type"))
    # Java has enums, which are numbers on the wire.
    return entry.getKey().getThriftFieldId(), entry.getKey().getFieldName(), TType.I32 if kind in ENUMS else kind


def _classes(class_path: str) -> list[str]:
    """Returns the names of the classes that may be structs."""
    names: list[str] = []
    for jar in class_path.split(":"):
        if re.search(r"/hive-standalone-metastore(-common)?-\d[^/]*$", jar):
            with zipfile.ZipFile(jar) as archive:
                names += [name for name in archive.namelist() if name.startswith(PACKAGE) and name.endswith(".class")]
    structs = [name for name in names if "$" not in name or re.search(r"\$\w+_(args|result)\.class$", name)]
    return sorted(name.removesuffix(".class").replace("/", ".") for name in structs)


def _ours(name: str) -> dict[int, int] | None:
    struct = getattr(ThriftHiveMetastore, name, None) or getattr(ttypes, name, None)
    if struct is None:
        return None
    return {field[0]: field[1] for field in struct.thrift_spec or () if field}
