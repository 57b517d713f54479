"""Trino: improved Hive bucketing."""

from __future__ import annotations

from typing import Final

from tests.spark.designs.lines import Line

LINES: Final = [
    Line(
        """CREATE TABLE page_views (
  user_id bigint,
  page_url varchar,
  dt date
  partitioned_by = ARRAY['dt'],
  bucketed_by = ARRAY['user_id'],
  bucket_count = 50
""",
        error="Syntax error at or near 'partitioned_by'",
        why="the document has lost `) WITH (` and the last `)`",
    ),
    Line(
        """CREATE TABLE page_views (
  user_id bigint,
  page_url varchar,
  dt date
)
WITH (
  partitioned_by = ARRAY['dt'],
  bucketed_by = ARRAY['user_id'],
  bucket_count = 50
)
""",
        design="the same without `)`, `WITH (` and the last `)`, which the document has lost",
    ),
    Line("INSERT INTO page_views VALUES (1, 'a', DATE'2019-05-29')"),
    Line(
        "INSERT INTO page_views VALUES (1, 'b', DATE'2019-05-29'), (2, 'c', DATE'2019-05-29')",
        design="inserting data into an existing partition without having to rewrite the entire partition",
    ),
    Line("SELECT page_url FROM page_views WHERE user_id = 1", [("a",), ("b",)]),
    Line("SET hive.create-empty-bucket-files = true", [("hive.create_empty_bucket_files", "true")]),
    Line(
        "SET SESSION create_empty_bucket_files = true",
        error="INVALID_SET_SYNTAX",
        design="the create_empty_bucket_files session property",
        why="Trino's statement: Spark has SET",
    ),
    Line("INSERT INTO page_views VALUES (3, 'd', DATE'2019-05-30')"),
    Line("SELECT page_url FROM page_views WHERE dt = DATE'2019-05-30'", [("d",)]),
    Line("RESET hive.create_empty_bucket_files"),
]
