"""What ours does otherwise than Hive 2.3.10 on purpose, and why. A difference that no longer exists fails the tests."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase

from tests.contract.comparing import Finding


@dataclass(frozen=True, slots=True)
class Difference:
    """`steps` and `field` are patterns (`*` is any text) of a finding's; an empty field is the whole answer.

    `real` is a pattern of what Hive answers there, as Python writes it. That ours breaks down is never on purpose,
    unless the difference is that (`breaks`).
    """

    steps: str
    field: str
    why: str
    real: str = "*"
    breaks: bool = False

    def covers(self, found: Finding) -> bool:
        if not self.breaks and re.search("INTERNAL_ERROR|hung up", repr(found.ours)):
            return False
        patterns = ((found.step, self.steps), (found.field, self.field), (repr(found.real), self.real))
        return all(fnmatchcase(text, pattern) for text, pattern in patterns)


LENIENT = "clients leave out what can be completed"
CASE = "keys in a partition's name are folded as all names are"
NEWER = "a field of Hive 3 and 4, which clients of those versions read"
UNSAID = "an error that Hive 2.3 cannot say: its method does not declare it"
NOTHING = "NoSuchObjectException, as declared, where Hive 2.3 answers a result with nothing in it"
REFUSED = "*raises*"
MORE = "every type of key, literal and operator can be filtered by, where Hive 2.3 gives up"
TYPED = "the error that the method declares, and not an accident of a null inside the server"

DIFFERENCES: tuple[Difference, ...] = (
    # Fields
    Difference("*", "*catName", NEWER),
    Difference("*", "*Database.catalogName", NEWER),
    Difference("*", "*Database.createTime", NEWER),
    Difference("*", "*TableMeta.ownerName", NEWER),
    Difference("*/add_partition*", "*Partition.sd.*", "what is returned is what is stored, with no gaps"),
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
    Difference(
        "tables_that_are_list_bucketed/create_table: buckets",
        "",
        "a bucket is one file of a partition, not of directories",
    ),
    Difference(
        "tables_that_are_list_bucketed/get_table: 01 and 1",
        "Table.sd.skewedInfo.*",
        "values are typed: 01 and 1 are one integer, which Hive's own writer finds as 1 only",
    ),
    Difference(
        "tables_that_are_list_bucketed/add_partition: default directory",
        "",
        "list bucketing's design: the value is the name of the directory of all other values",
    ),
    Difference(
        "tables_that_are_list_bucketed/alter_table: *",
        "",
        "as Hive's own clients refuse it (10207): directories would mean something else",
    ),
    Difference("tables_that_are_almost_empty/*: no descriptor", "*", LENIENT),
    Difference("tables_that_are_almost_empty/*: no columns", "*", LENIENT),
    Difference("tables_that_are_almost_empty/*: no serde", "*", LENIENT),
    Difference("tables_that_are_almost_empty/*: no name", "raises", TYPED),
    Difference("tables_that_are_almost_empty/*: no database", "raises", TYPED),
    Difference("tables_that_are_malformed/*: type *", "*", "types are read by Hive's whole grammar, in any case"),
    Difference("tables_that_are_malformed/*: column ''", "*", "a column without a name cannot be asked for"),
    Difference("tables_that_are_malformed/*: column twice", "raises", TYPED),
    Difference("tables_that_are_malformed/*: key is a column", "*", "no engine can read such a table"),
    Difference("tables_and_what_is_external/*: true", "*", "as Hive 3 and 4: TRUE in any case"),
    Difference("tables_and_what_is_external/files of outside (2)", "", "external.table.purge, as Hive 3 and 4"),
    Difference("tables_get_statistics_from_their_files/*: uncounted", "*", "DO_NOT_UPDATE_STATS, as Hive 3 and 4"),
    Difference("tables_are_listed/get_tables_by_type: *", "", "an unknown type is one that no table has; none is all"),
    Difference('tables_are_found_by_filter/*like "a%"', "", "LIKE takes both, % and .*, as the engines send both"),
    Difference("tables_that_are_missing/get_table: no *", "raises", TYPED),
    Difference(
        "tables_that_are_missing/get_table_objects_by_name*", "*", "an unknown database has no tables, as in listings"
    ),
    # Changes of tables
    Difference("tables_are_changed/alter_table: no *", "*", TYPED),
    Difference("tables_whose_columns_change/*: twice", "raises", TYPED),
    Difference("tables_are_moved/get_table: no location", "Table.sd.location", LENIENT),
    Difference("tables_are_compared_and_swapped/*", "Table.sd.location", LENIENT),
    Difference(
        "tables_are_compared_and_swapped/*: no expectation",
        "*",
        "a check that cannot be made refuses: nobody's commit is lost",
    ),
    Difference(
        "tables_are_compared_and_swapped/get_table: unknown key",
        "Table.parameters.metadata_location",
        "the commit without an expectation was refused",
    ),
    Difference("views/add_partition: without descriptor", "*", LENIENT),
    Difference("views/get_partitions", "*", "the partition without a descriptor is there"),
    # Partitions
    Difference("partitions_are_added/add_partitions_req: no list", "*", "a list that was asked for is never left out"),
    Difference("partitions_that_are_refused/add_partition: no table", "raises", TYPED),
    Difference("partitions_that_are_refused/append_partition_by_name: 'DS=up/N=5'", "", CASE),
    Difference("partitions_that_are_refused/get_partition_names", "", CASE),
    Difference("partitions_are_read/get_partition_by_name: 'DS=a/N=1'", "", CASE),
    Difference("partition_names_as_functions/partition_name_to_spec: 'B=x/A=y'", "*", CASE),
    Difference(
        "partitions_with_odd_values/*__HIVE_DEFAULT_PARTITION__*",
        "Partition.values.0",
        "values are answered as they were stored, not as they were asked for",
    ),
    Difference("partitions_with_odd_values/get_partition_names_ps: '.*'", "", "a value is no regular expression"),
    Difference("partitions_are_read/get_partition*: limit 0", "", "0 is none in every method"),
    Difference("partitions_are_read/*_ps*: []", "", "no values are the beginning of every partition's"),
    Difference("partitions_of_missing_tables/get_partition_names: *", "", "an unknown table has no partitions' names"),
    Difference("partitions_of_missing_tables/get_partitions_with_auth: *", "", TYPED),
    Difference(
        "partitions_are_dropped/drop_partition_by_name_with_environment_context",
        "",
        "Spark sends a context whose properties are unset",
    ),
    Difference("partitions_are_dropped/get_partition_names", "*", "Hive did not drop with such a context"),
    Difference("partitions_are_dropped/files of * (2)", "*", "Hive did not drop with such a context"),
    Difference("partitions_are_dropped_by_names/drop_partitions_req: *parts", "*", TYPED),
    Difference("partition_names_as_functions/*'a=1/a=2'", "*", "a key that stands twice has two values"),
    Difference("partition_names_as_functions/*'a=1=2'", "*", "the first = ends the key"),
    Difference("partition_names_as_functions/*\\x00*", "*", "PostgreSQL does not store a NUL character"),
    Difference("partition_names_as_functions/*: nothing", "*", "no name has no values"),
    # Changes of partitions
    Difference(
        "partitions_are_renamed/get_partition: new",
        "Partition.parameters.*",
        "Hive counts the files of the place to which it has yet to move the directory: none",
    ),
    Difference("partitions_are_changed/alter_partition: no descriptor", "", LENIENT),
    Difference("partitions_are_changed/alter_partition: other table", "", "the table that the call names is meant"),
    Difference("partitions_are_renamed/rename_partition: no values", "", "Hive takes it for an alter_partition"),
    Difference("partitions_are_renamed/*: same name", "*", "a partition may keep its name and change the rest"),
    Difference("partitions_are_renamed/get_partition: elsewhere", "*", "what lies at a place of its own stays there"),
    Difference("partitions_are_exchanged/exchange_partition", "*", "answers what came over; Hive 2.3 an empty struct"),
    Difference("partitions_are_exchanged/exchange_partitions", "", "moves partitions, not the directory above them"),
    Difference("partitions_are_exchanged/get_partition_names: come", "", "the last exchange failed in Hive"),
    Difference("partitions_are_exchanged/files of * (2)", "*", "the last exchange failed in Hive"),
    Difference("partitions_are_exchanged/exchange_partition: missing *", "*", TYPED),
    Difference("partitions_as_specs/*: shared", "*Time", "partitions have their times however they are added"),
    # Filters
    Difference('filters_of_the_example/*: p1 like "p1[%_]"', "", "LIKE takes %, _ and .*, as the engines send all"),
    Difference("filters_of_the_example/*", "", MORE, REFUSED),
    Difference("filters_of_each_type/*", "", MORE, REFUSED),
    Difference("filters_that_are_refused/*", "", MORE, REFUSED),
    Difference("filters_that_are_refused/*: k = 'a')", "", "a filter is read to its end"),
    Difference("filters_that_are_refused/*: k = 'a' union select 1", "", "a filter is read to its end"),
    # Functions and types
    Difference("functions_are_made_and_read/get_function: upper case", "", "names are folded, those of functions, too"),
    Difference("functions_are_made_and_read/*_function: no *", "", LENIENT, REFUSED),
    Difference("functions_are_made_and_read/create_function: name None", "*", TYPED),
    Difference(
        "functions_are_changed_and_dropped/get_function", "Function.resourceUris", "Hive 2.3 forgets new resources"
    ),
    Difference("functions_are_changed_and_dropped/alter_function: *", "*", "InvalidOperationException says more"),
    Difference("types/get_type", "Type.fields", "what was not given is not there"),
    Difference("types/drop_type: again", "", "the method declares NoSuchObjectException"),
    Difference("types/get_type_all", "", "Hive 2.3 does not have the method"),
    # Statistics
    Difference("statistics_*/get_*_column_statistics: *", "kind", NOTHING, "'MISSING_RESULT'"),
    Difference("statistics_*/get_*_column_statistics: *", "raises", NOTHING, "'TApplicationException'"),
    Difference("statistics_of_tables/*: no bounds", "*Value", "new statistics replace the old ones whole"),
    Difference(
        "statistics_of_partitions/get_aggr_stats_for: *'ds=3'*",
        "AggrStats.colStats.*",
        "partitions without statistics are estimated from the others as in Hive 4, without whole-number division",
    ),
    # Constraints
    Difference("constraints_*/get_foreign_keys: parent only", "", "as Hive 3 and 4: one end is enough", REFUSED),
    Difference("constraints_*/*", "kind", UNSAID, "'INTERNAL_ERROR'"),
    Difference("constraints_*/*", "raises", UNSAID, "'TApplicationException'"),
    Difference("constraints_are_dropped/*: upper case", "", "names are folded, those of constraints, too"),
    # Locks and transactions
    Difference("locks_are_taken_and_released/lock: no user", "", LENIENT, REFUSED),
    Difference("locks_of_each_kind/*: * holds 2, asks 2", "", "as Hive 4: writers share; their commits are compared"),
    Difference("transactions_are_opened_and_ended/commit_txn: commit twice", "", "as Hive 4: a retry is no mistake"),
    Difference("transactions_are_opened_and_ended/open_txns: none", "", "to open nothing is a mistake", breaks=True),
    Difference("compactions/compact2: again", "0", "as Hive 4: a request that is waiting already is refused"),
    # Roles, privileges, configuration
    Difference("roles_are_made_and_granted/*", "kind", UNSAID, "'INTERNAL_ERROR'"),
    Difference("roles_are_made_and_granted/*", "raises", UNSAID, "'TApplicationException'"),
    Difference("roles_are_made_and_granted/*''", "", "a role has a name"),
    Difference("roles_are_made_and_granted/get_role_names: some", "", "the role without a name is not there"),
    Difference("privileges_are_granted/*", "kind", UNSAID, "'INTERNAL_ERROR'"),
    Difference("privileges_are_granted/*", "raises", UNSAID, "'TApplicationException'"),
    Difference("privileges_are_granted/*: missing table", "", "nothing is granted on what is not there"),
    Difference("privileges_are_granted/get_privilege_set: *", "*.groupPrivileges", "no groups are an empty map"),
    Difference("configuration/getName", "", "the server says what it is"),
    Difference("configuration/getStatusDetails", "", "the server says what it is"),
    Difference("configuration/set_ugi: again", "", "a second user on one connection is taken, not cut off"),
)
