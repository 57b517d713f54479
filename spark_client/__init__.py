"""List-bucketed tables in plain PySpark: `session` makes a SparkSession, `scan_report` tells what a query reads."""

from __future__ import annotations

from spark_client.scan.report import ScanReport, scan_report
from spark_client.session import Session, session

__all__ = ["ScanReport", "Session", "scan_report", "session"]
