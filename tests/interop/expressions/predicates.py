"""Predicates on partitions, as users write them, and tables with every type of key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

DEFAULT = "__HIVE_DEFAULT_PARTITION__"


class Table(NamedTuple):
    """Keys with their types, the partitions that predicates choose from, and the literals that they use."""

    name: str
    keys: tuple[tuple[str, str], ...]
    values: tuple[tuple[str, ...], ...]
    literals: tuple[str, ...] = ()


def _one(name: str, kind: str, values: str, literals: str) -> Table:
    return Table(
        name,
        (("k", kind),),
        tuple((part,) for part in [*values.split("|"), DEFAULT]),
        tuple(literals.split("|")),
    )


ONE_KEY = (
    _one("strings", "string", "a|b|c|A|B c|abc|it's|é|𐍈|5|05|5.0|10|9|2024-01-31|true|-|a b|%", "'a'|'b'|'c'"),
    _one("varchars", "varchar(10)", "a|b|c|abc|5|05|10|a b", "'a'|'b'|'c'"),
    _one("chars", "char(5)", "a|b|c|abc|5|05|10", "'a'|'b'|'c'"),
    _one("tinyints", "tinyint", "-5|0|1|2|9|10|100|01", "1|9|100"),
    _one("smallints", "smallint", "-5|0|1|2|9|10|100|1000|01", "1|9|100"),
    _one("ints", "int", "-5|0|1|2|9|10|100|20240131|01", "1|9|100"),
    _one("bigints", "bigint", "-5|0|1|2|9|10|9007199254740993|9223372036854775807|01", "1|9|9007199254740993"),
    _one("decimals", "decimal(10,2)", "-5|0|1|1.1|1.10|1.5|10|99.99|12345678.25", "1.1|1.5|10"),
    _one("floats", "float", "-5.0|0.0|1.1|1.5|2.0|10.0|1.0E10", "1.1|1.5|10"),
    _one("doubles", "double", "-5.0|0.0|1.1|1.5|2.0|10.0|1.0E10", "1.1|1.5|10"),
    _one(
        "dates",
        "date",
        "1969-12-31|1970-01-01|2023-12-31|2024-01-01|2024-01-31|2024-02-29|2024-12-31",
        "DATE '2024-01-01'|DATE '2024-01-31'|DATE '2024-12-31'",
    ),
    _one(
        "timestamps",
        "timestamp",
        "1969-12-31 23:59:59|2024-01-01 00:00:00|2024-01-31 12:30:45.5|2024-01-31 12:30:45.123456789"
        "|2024-07-01 00:00:00",
        "TIMESTAMP '2024-01-01 00:00:00'|TIMESTAMP '2024-01-31 12:30:45.5'|TIMESTAMP '2024-07-01 00:00:00'",
    ),
    _one("booleans", "boolean", "true|false", "true|false|true"),
)
TWO_KEYS = Table(
    "two",
    (("ds", "string"), ("hr", "int")),
    tuple((ds, hr) for ds in ("a", "b", "2024-01-31", "5", DEFAULT) for hr in ("1", "2", "10", DEFAULT)),
)
THREE_KEYS = Table(
    "three",
    (("d", "date"), ("n", "bigint"), ("s", "string")),
    tuple(
        (d, n, s)
        for d in ("2024-01-01", "2024-01-31", DEFAULT)
        for n in ("1", "20", DEFAULT)
        for s in ("x", "Y", DEFAULT)
    ),
)
TABLES = (*ONE_KEY, TWO_KEYS, THREE_KEYS)

# {0} < {1} < {2} are literals of the key's type.
ON_ONE = (
    "k = {0}",
    "{1} = k",
    "k <> {0}",
    "k != {2}",
    "k < {1}",
    "k <= {1}",
    "k > {0}",
    "{1} > k",
    "k >= {1}",
    "k IN ({0}, {1})",
    "k IN ({0}, {1}, {2})",
    "k NOT IN ({0}, {2})",
    "k IN ({0}, NULL)",
    "k NOT IN ({0}, NULL)",
    "k BETWEEN {0} AND {1}",
    "k NOT BETWEEN {0} AND {1}",
    "k IS NULL",
    "k IS NOT NULL",
    "k <=> {0}",
    "NOT (k <=> {1})",
    "NOT (k = {0})",
    "NOT (k > {0})",
    "k = {0} OR k = {1}",
    "k = {0} OR k IS NULL",
    "k > {0} AND k < {2}",
    "NOT (k < {1} OR k = {2})",
    "NOT (k >= {0} AND k <= {1})",
    "k <> {0} AND k <> {1}",
    "k = {0} AND x > 3",
    "(k = {0} AND x = 1) OR k = {1}",
    "(k = {0} OR x = 1) AND k < {2}",
    "k = NULL",
)
ON_TYPES = {
    "strings": (
        "k = 5",
        "k > 5",
        "k <> 5",
        "k IN (5, 10)",
        "k = 5.0",
        "cast(k AS int) = 5",
        "cast(k AS bigint) > 5",
        "cast(k AS double) <= 5",
        "cast(k AS date) = DATE '2024-01-31'",
        "k = DATE '2024-01-31'",
        "k > DATE '2024-01-01'",
        "k = cast('2024-01-31' AS date)",
        "k LIKE 'a%'",
        "k LIKE '%c'",
        "k NOT LIKE 'a%'",
        "k LIKE 'a_c'",
        "k RLIKE '^[a-c]$'",
        "upper(k) = 'A'",
        "lower(k) = 'a'",
        "substr(k, 1, 1) = 'a'",
        "length(k) = 1",
        "concat(k, 'x') = 'ax'",
        "coalesce(k, 'a') = 'a'",
        "nvl(k, 'z') = 'z'",
        "CASE WHEN k = 'a' THEN true ELSE false END",
        "if(k = 'a', 1, 2) = 1",
        "trim(k) = 'a'",
        "k = 'it\\'s'",
        "k = 'é'",
        "k > '𐍈'",
        "k = 'B c'",
        "k = ''",
        "k >= 'a' AND k LIKE 'a%'",
        "k = 'a' AND upper(k) = 'A'",
        "k = 'a' OR upper(k) = 'B'",
        "k = true",
        "k IN ('" + "','".join(f"v{n}" for n in range(100)) + "','a')",
    ),
    "varchars": (
        "k = 5",
        "k = cast('a' AS varchar(10))",
        "k = cast('a' AS varchar(5))",
        "upper(k) = 'A'",
        "k LIKE 'a%'",
    ),
    "chars": ("k = 'a    '", "k = cast('a' AS char(5))", "k = cast('a' AS char(3))", "k LIKE 'a%'", "k = 5"),
    "tinyints": ("k = 1000", "k < 1000", "k = '1'", "k = 1.0", "k = 1L"),
    "smallints": ("k = 100000", "k < 100000", "k = '1'", "k > 1.5", "k = 1Y"),
    "ints": (
        "k = '1'",
        "k = '01'",
        "k > '9'",
        "k IN ('1', '9')",
        "k = 1.0",
        "k > 1.5",
        "k < 1.5BD",
        "k = 5000000000",
        "k < 5000000000",
        "k = 1S",
        "k = 1L",
        "k BETWEEN 1 AND 9.5",
        "cast(k AS string) = '1'",
        "cast(k AS bigint) = 1",
        "cast(k AS double) > 1.5",
        "cast(k AS decimal(10,2)) = 1",
        "cast(k AS tinyint) = 1",
        "k + 1 = 2",
        "k * 2 > 10",
        "k % 2 = 0",
        "-k = 5",
        "abs(k) = 5",
        "k = 'x'",
        "k = -5",
        "k > 1e1",
        "k = true",
    ),
    "bigints": (
        "k = '1'",
        "k = 9007199254740993.0",
        "k > 1.5",
        "k = 1",
        "cast(k AS int) = 1",
        "k > 9007199254740992",
        "k < 1e19",
    ),
    "decimals": (
        "k = 1",
        "k > 1.1D",
        "k = 1.1D",
        "k = '1.1'",
        "k < 1.123",
        "k = 1.10",
        "cast(k AS int) = 1",
        "k IN (1, 10)",
    ),
    "floats": ("k = cast(1.1 AS float)", "k > cast(1.1 AS float)", "k = 1", "k = '1.5'", "k = 1.5BD"),
    "doubles": ("k = 1", "k > 1.1BD", "k = '1.5'", "k = 1.0E10", "cast(k AS int) = 1", "k = cast(1.5 AS float)"),
    "dates": (
        "k = '2024-01-31'",
        "k > '2024-01-01'",
        "k BETWEEN '2024-01-01' AND '2024-01-31'",
        "k IN ('2024-01-01', '2024-01-31')",
        "k = cast('2024-01-31' AS date)",
        "k < TIMESTAMP '2024-01-31 12:00:00'",
        "k = TIMESTAMP '2024-01-31 00:00:00'",
        "year(k) = 2024",
        "month(k) = 1 AND k > DATE '2024-01-01'",
        "cast(k AS string) = '2024-01-31'",
        "cast(k AS string) LIKE '2024-01%'",
        "date_add(k, 1) = DATE '2024-02-01'",
        "k = '2024-1-1'",
        "k = 'x'",
        "k >= date_sub(DATE '2024-02-01', 1)",
    ),
    "timestamps": (
        "k = '2024-01-01 00:00:00'",
        "k > '2024-01-31'",
        "k = DATE '2024-01-01'",
        "cast(k AS date) = DATE '2024-01-31'",
        "k >= cast('2024-01-31 12:30:45.5' AS timestamp)",
        "to_date(k) = '2024-01-31'",
    ),
    "booleans": (
        "k",
        "NOT k",
        "k IS TRUE",
        "k IS NOT TRUE",
        "k IS FALSE",
        "k IS NOT FALSE",
        "k = 'true'",
        "k = 1",
        "k OR x = 1",
    ),
    "two": (
        "ds = 'a' AND hr = 1",
        "ds = 'a' OR hr = 1",
        "(ds = 'a' AND hr = 1) OR (ds = 'b' AND hr = 2)",
        "struct(ds, hr) IN (struct('a', 1), struct('b', 2))",
        "(ds, hr) IN (('a', 1), ('b', 10))",
        "struct(ds, hr) NOT IN (struct('a', 1), struct('b', 2))",
        "ds IN ('a', 'b') AND hr BETWEEN 1 AND 9",
        "NOT (ds = 'a' AND hr = 1)",
        "NOT (ds = 'a' OR hr > 1)",
        "ds > 'a' AND hr <= 2 AND x IS NOT NULL",
        "ds = hr",
        "ds = cast(hr AS string)",
        "ds IS NULL AND hr IS NOT NULL",
        "ds = 'a' AND (hr = 1 OR hr = 2 OR hr = 10)",
        "ds = 'a' AND hr + 1 = 2",
        "ds = 5 AND hr = 1",
        "concat(ds, '-', cast(hr AS string)) = 'a-1'",
        "ds = 'a' AND rand() > 2",
        "ds = 'a' AND hr IN (SELECT x FROM two)",
        "coalesce(ds, 'a') = 'a' AND hr > 1",
        "(ds = 'a' AND hr = 1 AND x = 1) OR (ds = 'b' AND hr = 2 AND x = 2) OR (ds = '5' AND x = 3)",
        "ds BETWEEN 'a' AND 'b' OR hr IS NULL",
        "hr IN (1, 2) OR (ds <> 'a' AND NOT hr = 10)",
        "CASE WHEN hr = 1 THEN ds ELSE 'b' END = 'a'",
    ),
    "three": (
        "d = DATE '2024-01-01' AND n = 1 AND s = 'x'",
        "d >= '2024-01-01' AND d < '2024-02-01' AND n > 10",
        "(d = DATE '2024-01-01' OR d IS NULL) AND NOT s = 'x'",
        "year(d) = 2024 AND n IN (1, 20)",
        "struct(d, n) IN (struct(DATE '2024-01-01', 1L), struct(DATE '2024-01-31', 20L))",
        "n BETWEEN 1 AND 20 AND lower(s) = 'y'",
        "d <> DATE '2024-01-31' OR n < 10 OR s IN ('x', 'z')",
        "s > 'X' AND n IS NOT NULL",
    ),
}
# Values that ALTER TABLE … DROP PARTITION accepts, by operator.
DROPS_OF_ONE = tuple(f"k {operator} {{{n}}}" for n in (0, 1) for operator in ("=", "<>", "!=", "<", "<=", ">", ">="))
DROPS = {
    "strings": ("k = '__HIVE_DEFAULT_PARTITION__'", "k != '__HIVE_DEFAULT_PARTITION__'", "k > 5", "k = 5", "k = 'é'"),
    "ints": ("k = '1'", "k = '__HIVE_DEFAULT_PARTITION__'", "k != '__HIVE_DEFAULT_PARTITION__'", "k > '9'", "k = 1.0"),
    "bigints": ("k > 9", "k = '9'", "k = '__HIVE_DEFAULT_PARTITION__'"),
    "dates": ("k = '2024-01-31'", "k >= '2024-01-31'", "k = '__HIVE_DEFAULT_PARTITION__'", "k < '1970-01-01'"),
    "timestamps": ("k = '2024-01-01 00:00:00'", "k > '2024-01-31 12:30:45.5'"),
    "decimals": ("k > '1.1'", "k = 1", "k = 1.10"),
    "doubles": ("k > '1.1'", "k = 10"),
    "booleans": ("k = 'true'", "k = 'false'"),
    "two": ("ds = 'a'", "ds = 'a', hr = 1", "ds >= 'a', hr < 10", "hr > 1", "ds != 'a', hr != 1", "ds = '5', hr = '2'"),
    "three": ("d = '2024-01-01'", "d > '2024-01-01', n = 20", "s = 'x', n <= 1", "d = '2024-01-31', n = 1, s = 'Y'"),
}


def selections() -> Iterator[tuple[Table, str]]:
    """Yields each table with its predicates."""
    for table in TABLES:
        for template in ON_ONE if table.literals else ():
            yield table, template.format(*table.literals)
        for predicate in ON_TYPES[table.name]:
            yield table, predicate


def drops() -> Iterator[tuple[Table, str]]:
    """Yields each table with its partition specifications."""
    for table in TABLES:
        for template in DROPS_OF_ONE if table.literals else ():
            yield table, template.format(*table.literals)
        for specification in DROPS.get(table.name, ()):
            yield table, specification
