"""The alert rules: checked and run by promtool, and their runbook."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from metastore.domain.read_methods import is_read
from metastore.handlers.registry import served
from tests.image.chart import ROOT, find_tool

FILE = ROOT / "metastore/monitoring/alerts.yaml"
RULES = [rule for group in yaml.safe_load(FILE.read_text())["groups"] for rule in group["rules"]]
ALERTS = {rule["alert"]: rule for rule in RULES if "alert" in rule}
RUNBOOK = "docs/how-to/runbook.md"
needs_promtool = pytest.mark.skipif(
    find_tool("promtool") is None, reason="promtool is missing (Debian: prometheus). scripts/set-up installs it"
)


def promtool(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [find_tool("promtool") or "promtool", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@needs_promtool
def test_promtool_accepts_the_rules() -> None:
    result = promtool("check", "rules", FILE)
    assert result.returncode == 0, result.stderr
    assert f"{len(RULES)} rules found" in result.stdout


def firing(tmp_path: Path, series: dict[str, str], minutes: int) -> set[str]:
    """Returns the alerts that fire after some minutes of these series, by promtool's simulation."""
    checks = [{"eval_time": f"{minutes}m", "alertname": name, "exp_alerts": []} for name in ALERTS]
    test: dict[str, Any] = {
        "rule_files": [str(FILE)],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [{"series": name, "values": values} for name, values in series.items()],
                "alert_rule_test": checks,
            }
        ],
    }
    (tmp_path / "test.yaml").write_text(yaml.safe_dump(test))
    result = promtool("test", "rules", tmp_path / "test.yaml")
    return set(re.findall(r"alertname: (\w+)", result.stdout + result.stderr))


@needs_promtool
@pytest.mark.parametrize(
    ("series", "minutes", "expected"),
    [
        ({'metastore_calls_total{method="get_table",outcome="ok"}': "0+600x90"}, 60, set()),
        (
            {
                'metastore_calls_total{method="get_table",outcome="ok"}': "0+600x90",
                'metastore_calls_total{method="add_partitions",outcome="unavailable"}': "0+30x90",
            },
            60,
            {"MetastoreUnavailable", "MetastoreWritesFail", "MetastoreErrorBudgetFast", "MetastoreErrorBudgetSlow"},
        ),
        (
            # One percent of the reads fail: no write does.
            {
                'metastore_calls_total{method="get_table",outcome="ok"}': "0+990x800",
                'metastore_calls_total{method="get_table",outcome="failed"}': "0+10x800",
            },
            780,
            {"MetastoreCallsFail", "MetastoreErrorBudgetFast", "MetastoreErrorBudgetSlow"},
        ),
        # A single failure fires nothing.
        (
            {
                'metastore_calls_total{method="get_table",outcome="ok"}': "0+600x90",
                'metastore_calls_total{method="create_table",outcome="unavailable"}': "0x30 1x60",
            },
            34,
            set(),
        ),
        (
            {
                'metastore_call_seconds_bucket{method="get_table",le="0.25"}': "0+50x90",
                'metastore_call_seconds_bucket{method="get_table",le="1"}': "0+100x90",
                'metastore_call_seconds_bucket{method="get_table",le="+Inf"}': "0+100x90",
                'metastore_call_seconds_count{method="get_table"}': "0+100x90",
            },
            60,
            {"MetastoreSlow", "MetastoreLatencyBudgetFast", "MetastoreLatencyBudgetSlow"},
        ),
        (
            {'metastore_exhausted_calls_total{condition="disk_full"}': "0x10 1x30"},
            12,
            {"MetastorePostgresExhausted"},
        ),
        ({"metastore_file_operations_parked": "1x30"}, 20, {"MetastoreParkedFileOperations"}),
        ({"metastore_file_operation_failing_seconds": "0+60x30"}, 10, set()),
        ({"metastore_file_operation_failing_seconds": "0+60x30"}, 20, {"MetastoreFileOperationsFail"}),
        ({"metastore_catalog_unreconciled": "0x10 1x10"}, 15, {"MetastoreUnreconciled"}),
        ({"metastore_import_behind_seconds": "0+60x30"}, 20, {"MetastoreImportBehind"}),
        ({"metastore_import_behind_seconds": "0x30"}, 20, set()),
        ({'metastore_sink_lag_seconds{sink="hook"}': "0+60x30"}, 20, {"MetastoreSinkBehind"}),
        ({'metastore_sink_lag_seconds{sink="hook"}': "0 60x30"}, 20, set()),
        ({'metastore_sink_dead_letters{sink="hook"}': "0x10 1x10"}, 15, {"MetastoreDeadLetters"}),
        ({'metastore_worker_restarts_total{instance="a"}': "0x10 1 2 3 4x20"}, 20, {"MetastoreWorkersRestart"}),
        ({'metastore_worker_restarts_total{instance="a"}': "0x10 1x30"}, 20, set()),
        ({"metastore_certificate_expiry_seconds": "864000-60x90"}, 70, {"MetastoreCertificateExpires"}),
        (
            {"metastore_certificate_expiry_seconds": "3600-60x90"},
            70,
            {"MetastoreCertificateExpires", "MetastoreCertificateExpired"},
        ),
        (
            {
                'metastore_resident_bytes{instance="a",worker="0"}': "120x20",
                'metastore_memory_limit_bytes{instance="a"}': "200x20",
                'metastore_call_waiting_seconds_sum{instance="a",resource="thread"}': "0+120x20",
            },
            20,
            {"MetastoreMemory", "MetastoreWaitsForThreads"},
        ),
        (
            {
                'metastore_resident_bytes{instance="a",worker="0"}': "199x20",
                'metastore_memory_limit_bytes{instance="a"}': "200x20",
            },
            20,
            set(),
        ),
    ],
)
def test_alerts_fire_when_they_should(series: dict[str, str], minutes: int, expected: set[str], tmp_path: Path) -> None:
    assert firing(tmp_path, series, minutes) == expected


def test_the_rule_of_failing_writes_names_the_methods_that_change_something() -> None:
    (pattern,) = re.findall(r'method!~"([^"]+)"', ALERTS["MetastoreWritesFail"]["expr"])
    wrong = {name for name in served() if bool(re.fullmatch(pattern, name)) != is_read(name)}
    assert wrong <= {"get_delegation_token", "get_lock_materialization_rebuild"}


def test_every_alert_has_a_section_in_the_runbook() -> None:
    sections = re.findall(r"^## (Metastore\w+)$", (ROOT / RUNBOOK).read_text(), re.MULTILINE)
    assert sorted(sections) == sorted(ALERTS)
    for name, rule in ALERTS.items():
        assert rule["annotations"]["runbook_url"] == f"{RUNBOOK}#{name.lower()}"
        assert rule["labels"]["severity"] in ("warning", "critical")
