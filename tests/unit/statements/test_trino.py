"""CREATE TABLE for Hive from Trino's documentation, translated to Spark's."""

from __future__ import annotations

import pytest

from spark_client.errors import InvalidStatementError
from spark_client.statements.grammar.trino import parse

PAGE_VIEWS = """CREATE TABLE page_views (
  user_id bigint,
  page_url varchar COMMENT 'a varchar',
  seen timestamp(3),
  dt date
)
WITH (
  partitioned_by = ARRAY['dt'],
  bucketed_by = ARRAY['user_id'],
  bucket_count = 50
);"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            PAGE_VIEWS,
            (
                "CREATE TABLE page_views (user_id bigint, page_url STRING COMMENT 'a varchar', seen TIMESTAMP) "
                "PARTITIONED BY (dt date) CLUSTERED BY (user_id) INTO 50 BUCKETS"
            ),
        ),
        (
            (
                "create table if not exists a.b (c varchar(10), d array<int>) comment 'x' with (format = 'orc', "
                "bucketed_by = array['c'], sorted_by = array['d DESC', 'c'], bucket_count = 4, "
                "external_location = 's3://b/p')"
            ),
            (
                "CREATE EXTERNAL TABLE IF NOT EXISTS a.b (c varchar(10), d array<int>) COMMENT 'x' "
                "CLUSTERED BY (c) SORTED BY (d DESC, c) INTO 4 BUCKETS STORED AS ORC LOCATION 's3://b/p'"
            ),
        ),
        ("CREATE TABLE t (a INT) WITH SERDEPROPERTIES ('a' = 'b')", None),
        ("CREATE TABLE t (a INT) AS WITH (SELECT 1) SELECT 2", None),
        ("CREATE TABLE t AS WITH s (a) AS (SELECT 1) SELECT * FROM s", None),
        ("CREATE TABLE t (a INT) STORED AS ORC AS SELECT (1) WITH (x)", None),
    ],
)
def test_statements_in_sparks_words(text: str, expected: str | None) -> None:
    parsed = parse(text)
    assert (parsed.text if parsed else None) == expected


@pytest.mark.parametrize(
    ("text", "mend"),
    [
        ("CREATE TABLE t (p INT, a INT) WITH (partitioned_by = ARRAY['p'])", "p must be the last columns"),
        ("CREATE TABLE t (a INT) WITH (partitioned_by = ARRAY['p'])", "p is not among the columns"),
        ("CREATE TABLE t (a INT) WITH (bucketed_by = ARRAY['a'])", "needs bucket_count"),
        ("CREATE TABLE t (a INT) WITH (bucket_count = 4)", "bucket_count needs bucketed_by"),
        ("CREATE TABLE t (a INT) WITH (sorted_by = ARRAY['a'])", "sorted_by needs bucketed_by"),
        ("CREATE TABLE t (a INT) WITH (transactional = true)", "properties of Trino are format"),
    ],
)
def test_wrong_properties_are_rejected(text: str, mend: str) -> None:
    with pytest.raises(InvalidStatementError, match=mend):
        parse(text)
