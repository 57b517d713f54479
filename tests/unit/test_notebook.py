"""What a notebook and a shell show of results, and errors for arguments of another type."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import spark_client
from metastore.client.structs import PublishMode
from spark_client.errors import InvalidArgumentError
from spark_client.scan.lineage import DependentScan
from spark_client.scan.report import ScanStatistics, TableScan
from spark_client.survey.size import TableSize

SCAN = TableScan("shop.<b>", ScanStatistics(1, 2, 3, 4096), ScanStatistics(10, 20, 3000, 2**30))
REPORT = spark_client.ScanReport((SCAN,), (DependentScan("shop.dep", ("ds=1",), (("shop.base", ("ds=1", "ds=2")),)),))
PARTITIONS = tuple(
    spark_client.WrittenPartition((f"2026-01-{day:02}",), PublishMode.APPEND, "s3a://b/t", 1, 2, 3000, 500)
    for day in range(1, 31)
)
SUGGESTION = spark_client.SkewSuggestion("t", ("dest",), (spark_client.HeavyValue(("<O>",), 900, 0.9),), 1000, 3)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (
            REPORT,
            "<ScanReport: shop.<b>: 1 of 10 partitions, 2 of 20 directories, 3 of 3,000 files, 4.0 KiB of 1.0 GiB>",
        ),
        (spark_client.ScanReport(()), "<ScanReport: the query reads no table of the metastore>"),
        (spark_client.WriteResult("q", PARTITIONS), "<WriteResult: 15,000 rows in 60 files, 30 partitions>"),
        (spark_client.WriteResult("q"), "<WriteResult: nothing was written>"),
        (SUGGESTION, "<SkewSuggestion: dest has 1 heavy value in 1,000 rows>"),
        (
            spark_client.SkewSuggestion(None, ("a", "b"), (), 5, 0),
            "<SkewSuggestion: a, b has no heavy value in 5 rows>",
        ),
    ],
)
def test_a_result_is_one_short_line(value: object, shown: str) -> None:
    assert repr(value) == shown


def test_a_notebook_shows_tables() -> None:
    report = REPORT._repr_html_()
    assert "<td" in report
    assert "shop.&lt;b&gt;" in report
    assert "3 of 3,000" in report
    assert "shop.base" in report
    assert spark_client.ScanReport(())._repr_html_() == "<p>The query reads no table of the metastore.</p>"
    written = spark_client.WriteResult("q", PARTITIONS)._repr_html_()
    assert written.count("<tr>") == 21
    assert "10 more partitions" in written
    skew = SUGGESTION._repr_html_()
    assert "&lt;O&gt;" in skew
    assert "<pre>SKEWED BY" in skew


@pytest.mark.parametrize(
    ("size", "partitions", "kept"), [(2**30, 10, [0.9, 0.05]), (2**30, 100, [0.9]), (12 * 85 * 1024, 12, [])]
)
def test_a_directory_is_suggested_from_a_mebibyte(size: int, partitions: int, kept: list[float]) -> None:
    values = tuple(spark_client.HeavyValue((str(share),), 1, share) for share in (0.9, 0.05))
    suggestion = spark_client.SkewSuggestion("t", ("dest",), values, 1000, 3)
    measured = TableSize(size, partitions)
    suggested = measured.suggested(suggestion)
    assert [value.share for value in suggested.values] == kept
    assert bool(suggested.clause) == bool(kept)
    assert measured.saved(values[0]) == round(size * 0.1)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: spark_client.scan_report("SELECT 1"), "scan_report needs a DataFrame, not 'SELECT 1': scan_report("),
        (lambda: spark_client.attach(None), "attach needs a running SparkSession, not None: "),
        (lambda: spark_client.write("t"), "write needs a DataFrame, not 't': write(df).into('db.t').append()"),
        (lambda: spark_client.write([1]), "write needs a DataFrame, not a list"),
        (lambda: spark_client.by_bucket("t"), "by_bucket needs a DataFrame, not 't'"),
        (lambda: spark_client.skew_join("a", "b", "k"), "skew_join needs two DataFrames, not 'a'"),
        (lambda: spark_client.find_skew(7, "c"), "find_skew needs a DataFrame or the name of a table, not an int"),
        (lambda: spark_client.check_buckets("t", "u"), "check_buckets needs a session first, not 't'"),
    ],
)
def test_an_argument_of_another_type_is_one_line_with_the_call(call: Callable[[], object], text: str) -> None:
    with pytest.raises(InvalidArgumentError) as error:
        call()
    assert isinstance(error.value, TypeError)
    assert text in str(error.value)
    assert "\n" not in str(error.value)
