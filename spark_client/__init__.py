"""List-bucketed tables in plain PySpark. `session` starts a SparkSession; `scan_report` shows what a query reads."""

from __future__ import annotations

from importlib.util import find_spec

if find_spec("py4j") is None:  # pyspark-client also installs the package pyspark
    raise ImportError(
        "spark_client needs PySpark with its driver: pip install 'pyspark>=3.5'. A client of Spark Connect needs no "
        "spark_client: serve it with `metastore spark serve --connect 15002`"
    )

from spark_client.joins.by_bucket import by_bucket
from spark_client.joins.skew_join import skew_join
from spark_client.scan.report import ScanReport, scan_report
from spark_client.serve import Servers, serve
from spark_client.session import Session, attach, session
from spark_client.survey.check_buckets import BucketProblem, check_buckets
from spark_client.survey.find_skew import find_skew, survey_skew
from spark_client.survey.suggestion import HeavyValue, SkewSuggestion
from spark_client.table.directory_names import register_directory_function
from spark_client.waiting import wait_for
from spark_client.write.result import WriteResult, WrittenPartition
from spark_client.writer import write

__all__ = [
    "BucketProblem",
    "HeavyValue",
    "ScanReport",
    "Servers",
    "Session",
    "SkewSuggestion",
    "WriteResult",
    "WrittenPartition",
    "attach",
    "by_bucket",
    "check_buckets",
    "find_skew",
    "register_directory_function",
    "scan_report",
    "serve",
    "session",
    "skew_join",
    "survey_skew",
    "wait_for",
    "write",
]
