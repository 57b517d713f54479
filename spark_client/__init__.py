"""List-bucketed tables in plain PySpark: `session` makes a SparkSession, `scan_report` tells what a query reads."""

from __future__ import annotations

from spark_client.joins.by_bucket import by_bucket
from spark_client.joins.skew_join import skew_join
from spark_client.scan.report import ScanReport, scan_report
from spark_client.serve import Doors, serve
from spark_client.session import Session, attach, session
from spark_client.survey.check_buckets import BucketProblem, check_buckets
from spark_client.survey.find_skew import find_skew, survey_skew
from spark_client.survey.suggestion import HeavyValue, SkewSuggestion
from spark_client.table.directory_names import register_directory_function
from spark_client.write.result import WriteResult, WrittenPartition
from spark_client.writer import write

__all__ = [
    "BucketProblem",
    "Doors",
    "HeavyValue",
    "ScanReport",
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
    "write",
]
