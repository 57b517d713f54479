"""What ours does otherwise than Hive 2.3.10 on purpose, and why. A difference that no longer exists fails the tests."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

from tests.contract.comparing import Finding


@dataclass(frozen=True, slots=True)
class Difference:
    """`steps` and `field` are patterns (`*` is any text) of a finding's; an empty field is the whole answer."""

    steps: str
    field: str
    why: str

    def covers(self, found: Finding) -> bool:
        return fnmatchcase(found.step, self.steps) and fnmatchcase(found.field, self.field)


NEWER = "a field of Hive 3 and 4, which clients of those versions read"
LISTING = "no listing of a whole directory at every ALTER: engines bring their own counts"
TYPED = "the error that the method declares, and not an accident of a null inside the server"

DIFFERENCES: tuple[Difference, ...] = (
    # Fields
    Difference("*", "*catName", NEWER),
    Difference("*", "*Database.catalogName", NEWER),
    Difference("*", "*Database.createTime", NEWER),
    Difference("*", "*TableMeta.ownerName", NEWER),
    Difference("*/add_partition*", "Partition.sd.*", "what is returned is what is stored, with no gaps"),
    # Databases
    Difference("databases_with_a_catalog_before_their_name/*", "*", "the mark of Hive 3 and 4 clients is understood"),
    Difference("databases_with_bad_names/*: None", "*", TYPED),
    Difference("databases_with_bad_names/*: root", "*", "as Hive 4: the root of a file system is nobody's own"),
    Difference("databases_with_bad_names/*: trailing blank", "*", "names are trimmed, as Hive 4 does"),
    Difference("databases_with_bad_names/create_database: relative", "raises", "says that the object is malformed"),
    Difference(
        "databases_are_listed/get_databases: *[[(+?]*", "*", "Hive 2.3 knows * and | only; later it takes expressions"
    ),
    Difference(
        "databases_are_listed/get_databases: *\\*", "*", "what is no pattern is said, instead of finding nothing"
    ),
    Difference(
        "databases_are_changed/get_database: description",
        "Database.description",
        "Hive 2.3 forgets a new description; later it keeps it",
    ),
    Difference(
        "databases_are_changed/get_database: location",
        "Database.*",
        "Hive 2.3 forgets a new location; later it keeps it",
    ),
    Difference("databases_are_changed/alter_database: missing", "", "Hive 2.3 does not notice; the method declares it"),
    Difference("databases_are_changed/alter_database: other name", "", "Hive 2.3 ignores the new name without a word"),
    Difference("databases_are_dropped/drop_database: *", "raises", "NoSuchObjectException is what the method declares"),
    # Tables
    Difference("tables_that_are_skewed/create_table: *", "", "skew that no writer could follow is refused at once"),
    Difference("tables_that_are_almost_empty/*: no descriptor", "*", "old clients leave out what can be completed"),
    Difference("tables_that_are_almost_empty/*: no columns", "*", "old clients leave out what can be completed"),
    Difference("tables_that_are_almost_empty/*: no serde", "*", "old clients leave out what can be completed"),
    Difference("tables_that_are_almost_empty/*: no name", "raises", TYPED),
    Difference("tables_that_are_almost_empty/*: no database", "raises", TYPED),
    Difference("tables_that_are_malformed/*: type *", "*", "types are read by Hive's whole grammar, in any case"),
    Difference("tables_that_are_malformed/*: column ''", "*", "a column without a name cannot be asked for"),
    Difference("tables_that_are_malformed/*: column twice", "raises", TYPED),
    Difference("tables_that_are_malformed/*: key is a column", "*", "no engine can read such a table"),
    Difference("tables_and_what_is_external/*: true", "*", "as Hive 3 and 4: TRUE in any case"),
    Difference("tables_and_what_is_external/*: to managed", "*", LISTING),
    Difference("tables_and_what_is_external/files of outside (2)", "", "external.table.purge, as Hive 3 and 4"),
    Difference("tables_get_statistics_from_their_files/*: uncounted", "*", "DO_NOT_UPDATE_STATS, as Hive 3 and 4"),
    Difference("tables_are_listed/get_tables_by_type: *", "", "an unknown type is one that no table has; none is all"),
    Difference('tables_are_found_by_filter/*like "a%"', "", "LIKE takes both, % and .*, as the engines send both"),
    Difference("tables_are_found_by_filter/*: limit *", "*", "listings are ascending, limited ones too"),
    Difference("tables_that_are_missing/get_table: no *", "raises", TYPED),
    Difference(
        "tables_that_are_missing/get_table_objects_by_name*", "*", "an unknown database has no tables, as in listings"
    ),
)
