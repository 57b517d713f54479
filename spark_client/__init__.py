"""List-bucketed tables in plain PySpark: `session` makes a SparkSession, `scan_report` tells what a query reads."""

from __future__ import annotations

from spark_client.buckets.check import BucketProblem, check_buckets
from spark_client.scan.report import ScanReport, scan_report
from spark_client.session import Session, session
from spark_client.skew.find import find_skew, survey_skew
from spark_client.skew.join import skew_join
from spark_client.skew.suggestion import HeavyValue, SkewSuggestion

__all__ = [
    "HeavyValue",
    "ScanReport",
    "Session",
    "BucketProblem",
    "SkewSuggestion",
    "find_skew",
    "scan_report",
    "session",
    "WriteResult",
    "WrittenPartition",
    "check_buckets",
    "skew_join",
    "survey_skew",
]
