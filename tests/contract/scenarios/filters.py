"""Filters of partitions: Hive's own example table, each type of key, and invalid filters."""

from __future__ import annotations

from tests.contract.recording import Recorder
from tests.contract.scenarios import scenario
from tests.wire.builders import partition, table
from thrift_idl.gen.hive_metastore.ttypes import Partition

EXAMPLE = "p11 p21 31 p41, p11 p22 32 p42, p12 p21 31 p43, p12 p23 32 p43, p13 p24 31 p44, p13 p25 -33 p45"


def kept(partitions: list[Partition]) -> list[str]:
    """Returns the values of the partitions that match a filter."""
    return sorted("/".join(each.values) for each in partitions)


def ask(hive: Recorder, db: str, name: str, *texts: str) -> None:
    for text in texts:
        hive.at(f"{name}: {text}", show=kept).get_partitions_by_filter(db, name, text, -1)


@scenario
def filters_of_the_example(hive: Recorder, db: str) -> None:
    keys = [("p1", "string"), ("p2", "string"), ("p3", "int"), ("p4", "string")]
    hive.create_table(table(db, "t", keys))
    hive.add_partitions([partition(db, "t", row.split()) for row in EXAMPLE.split(", ")])
    ask(hive, db, "t", 'p1="p11"', 'p1 != "p11"', 'p1 <> "p11"', 'p1="p11" or p2="p23"', 'P1 = "p11"', "p1 = 'p11'")
    ask(hive, db, "t", 'p1="p12" and p2="p27" Or p2="p21"', '(p1="p12" or p1="p11") AND (p2="p21")', "", " ")
    ask(hive, db, "t", 'p1 > "p11"', 'p1 >= "p12"', 'p1 < "p12"', 'p1 <= "p12"', '"p12" > p1', '"p11" = p1')
    ask(hive, db, "t", "p3 = 31", "p3 = -33", "p3 != 31", "31 != p3", '31 != p3 and p1="p12"', "p3 > 31", "p3 < 4")
    ask(hive, db, "t", "p3 >= -33 and p3 <= 31", "p3 between 31 and 32", "p3 between 32 and 31", "p3 = 031")
    ask(hive, db, "t", 'p1 between "p11" and "p12"', 'p1 not between "p11" and "p12"', "p3 not between 31 and 32")
    ask(hive, db, "t", "(p3) in (31, 33)", "(p3) not in (31, 33)", '(p1) in ("p11", "p12")', '(p1) IN ("p13")')
    ask(hive, db, "t", '(struct(p1,p2)) in (const struct("p11","p21"), const struct("p12","zz"))')
    ask(hive, db, "t", '(struct(p1,p2)) not in (struct("p11","p21"), struct("p12","zz"))')
    ask(hive, db, "t", 'p1 like "p1.*"', 'p1 like ".*1"', 'p1 like "p1%"', 'p1 like "p1_"', 'p4 like "p4."')
    ask(hive, db, "t", 'p1 = "p11" and p3 = 31', 'p1 like "p1.*" and p3 = 31')


@scenario
def filters_of_each_type(hive: Recorder, db: str) -> None:
    for name, kind, values, texts in (
        ("big", "bigint", ("9", "10", "-5", "9999999999"), ("k > 9", "k < 10", "k = 10", "k = 9999999999", "k != 9")),
        ("small", "smallint", ("9", "10"), ("k > 9", "k = 9")),
        ("tiny", "tinyint", ("9", "10"), ("k > 9", "k = 9")),
        ("days", "date", ("2024-01-02", "2023-12-31"), ("k > 2024-01-01", "k = '2024-01-02'", "k < date '2024-01-01'")),
        ("texts", "string", ("B", "a", "10", "9"), ("k < 'a'", "k > '10'", "k = 10", "k > 9", "k = 'A'", "k = '9'")),
        ("chars", "char(3)", ("a", "ab"), ("k = 'a'", "k > 'a'")),
        ("varchars", "varchar(3)", ("a", "ab"), ("k = 'a'", "k > 'a'")),
        ("moments", "timestamp", ("2024-01-01 00:00:00",), ("k = '2024-01-01 00:00:00'", "k > '2023-01-01 00:00:00'")),
        ("sums", "decimal(10,2)", ("1.50", "10"), ("k > 2", "k = 10", "k = '1.50'")),
        ("truths", "boolean", ("true", "false"), ("k = 'true'", "k = true")),
        ("fractions", "double", ("1.5", "2"), ("k > 1", "k = 2", "k = '1.5'")),
    ):
        hive.create_table(table(db, name, [("k", kind)]))
        hive.at(name).add_partitions([partition(db, name, [value]) for value in values])
        ask(hive, db, name, *texts)


@scenario
def filters_and_the_default_partition(hive: Recorder, db: str) -> None:
    """Trap 24."""
    for name, kind in (("n", "int"), ("s", "string"), ("d", "date")):
        hive.create_table(table(db, name, [("k", kind)]))
        some = "2024-01-01" if kind == "date" else "1"
        hive.add_partitions([partition(db, name, [value]) for value in (some, "__HIVE_DEFAULT_PARTITION__")])
        value = some if kind == "int" else f"'{some}'"
        ask(hive, db, name, f"k = {value}", f"k != {value}", f"k >= {value}", f"k < {value}")
        hive.at(name).get_partition_names(db, name, -1)
    ask(hive, db, "s", "k = '__HIVE_DEFAULT_PARTITION__'", "k != '__HIVE_DEFAULT_PARTITION__'")


@scenario
def filters_with_odd_values(hive: Recorder, db: str) -> None:
    hive.create_table(table(db, "t", [("k", "string")]))
    odd = ("a b", "a/b", "x=y", "é", "'", '"', "a%", "a_", "\\", "A", "a", "100%", "a'b", "01", "1")
    hive.add_partitions([partition(db, "t", [value]) for value in odd])
    ask(hive, db, "t", *(f'k = "{value}"' for value in odd if value not in ('"', "\\")))
    ask(hive, db, "t", *(f"k = '{value}'" for value in odd if value not in ("'", "\\", "a'b")))
    ask(hive, db, "t", *(f'k > "{value}"' for value in ("a", "A", "é", "1")))
    ask(hive, db, "t", *(f'k like "{value}"' for value in ("a.*", ".*b", "a", "a/b", "[aA]", ".", "x=y")))


@scenario
def filters_that_are_refused(hive: Recorder, db: str) -> None:
    hive.create_table(table(db, "t", [("k", "string"), ("n", "int")]))
    hive.add_partitions([partition(db, "t", ["a", n]) for n in ("1", "2")])
    ask(hive, db, "t", "nope = 1", "k", "k =", "k = 'x", "(k = 'a'", "k = 'a')", "k <=> 'a'", "k == 'a'", "`k` = 'a'")
    ask(hive, db, "t", "n = 'abc'", "n = '1'", "k = 1", "not k = 'a'", "k is null", "k in ('a')", "; drop", "a = 1 = 1")
    ask(hive, db, "t", "k = 'a' union select 1", "((((", "k = 'a' and", "or", "k like 1", "n like '1'", "n = 1.5")
    ask(hive, db, "t", "k = k", "'a' = 'a'", "x = 'a'", "a = 1", "(k) in ()", "(k, n) in ('a', 1)", "k between 'a'")
    ask(hive, db, "t", "k = null", "k = true", "n = 99999999999999999999", "n = -1", "n = - 1", "n = +1")
    hive.at("counted").get_num_partitions_by_filter(db, "t", "k = 'a'")
    hive.at("counted all").get_num_partitions_by_filter(db, "t", "")
    hive.at("not counted").get_num_partitions_by_filter(db, "t", "nope = 1")
    hive.at("nothing").get_partitions_by_filter(db, "t", None, -1)
