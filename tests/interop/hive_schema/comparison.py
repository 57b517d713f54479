"""Compares replies of this server with replies of Hive's own servers, field by field."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from tests.interop.hive_schema.reads import differences
from thrift_idl.gen.hive_metastore.ttypes import DatabaseType

# Fields that a version's own answers do not have, by method and path: Hive leaves them out, we send them.
ABSENT = {
    "2.3": r"catName|catalogName|authorizer|id|get_table_meta/#/(ownerType|ownerName)|get_database/createTime",
    "3.1": r"(get_table|get_table_req/table)/id|get_table_meta/#/(catName|ownerType|ownerName)|get_database/createTime",
    "4.0": r"nothing",
}
# Answers that Hive computes with classes that are not in the database.
INDEXES = r"get_indexes"  # Hive 3 has none
COMPUTED = {
    "2.3": r"get_(fields|schema)/#/(comment|type)|get_aggr_stats_for",
    "3.1": rf"get_(fields|schema)\(db2, external|get_aggr_stats_for|{INDEXES}",
    "4.0": rf"get_(fields|schema)\(db2, external|get_aggr_stats_for|get_table\(|{INDEXES}",
}
# Defaults of a version's own server, by field, with our value and its value: the write id of a table without
# transactions (Hive uses it for transactional tables and replication), and the type of a database that is not remote
# (Hive tests whether it is REMOTE).
DEFAULTS: dict[str, tuple[tuple[str, int | None, int], ...]] = {
    "2.3": (),
    "3.1": (),
    "4.0": (("writeId", -1, 0), ("type", None, DatabaseType.NATIVE)),
}


def unexplained(
    version: str, ours: dict[str, Any], theirs: dict[str, Any], known: str = "(?!)"
) -> dict[str, tuple[int, str]]:
    """Returns the differences that `ABSENT`, `COMPUTED`, `DEFAULTS` and `known` do not explain, by kind: their number,
    and one of them.
    """
    numbers: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for path, one, other in differences(ours, theirs):
        kind = re.sub(r"/\d+(?=/|$)", "/#", path)
        shown = re.sub(r"\([^)]*\)", "", kind)
        if other is None and re.search(rf"(?:^|/)(?:{ABSENT[version]})$", shown):
            continue
        if re.search(COMPUTED[version], shown) or re.search(COMPUTED[version], path):
            continue
        if re.search(known, shown) or (path.rpartition("/")[2], one, other) in DEFAULTS[version]:
            continue
        numbers[shown] += 1
        examples.setdefault(shown, f"{path}: ours {str(one)[:100]!r}, theirs {str(other)[:100]!r}")
    return {kind: (number, examples[kind]) for kind, number in numbers.items()}
