"""The Helm chart: rendered for eight value files, and checked against the schemas of the Kubernetes API."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml

from metastore.cli.commands import metastore
from metastore.client.credentials import PREFIX as CLIENT_PREFIX
from metastore.client.credentials import Credentials
from metastore.settings import PREFIX, Settings
from tests.image.chart import CHART, NEWEST, OLDEST, ROOT, containers, find_tool, helm, pods, render, template
from tests.image.custom_resources import FILES, SET_UP, schema_of

pytestmark = pytest.mark.skipif(find_tool("helm") is None, reason="helm is missing. scripts/set-up installs it")
VALUE_FILES = sorted(CHART.glob("ci/*.yaml"))
MINIMUM = ("--set", "database.url=postgresql://metastore@host/metastore", "--set", "warehouse.uri=s3a://b/w")
VARIABLES = {PREFIX + field.name.upper() for field in fields(Settings)} | {PREFIX + "URI"}
VARIABLES |= {CLIENT_PREFIX + field.name.upper() for field in fields(Credentials)}


@pytest.fixture(scope="module", params=VALUE_FILES, ids=lambda file: file.stem)
def objects(request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    return render("--values", request.param)


def test_there_are_eight_value_files() -> None:
    assert len(VALUE_FILES) == 8


@pytest.mark.parametrize("file", VALUE_FILES, ids=lambda file: file.stem)
def test_lint_finds_nothing(file: Path) -> None:
    result = helm("lint", CHART, "--strict", "--values", file, "--kube-version", OLDEST)
    assert result.returncode == 0, result.stdout
    assert "[WARNING]" not in result.stdout


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
def test_objects_match_the_schemas_of_the_api(objects: list[dict[str, Any]], version: str) -> None:
    for each in objects:
        if each["kind"] not in FILES:
            kubernetes_validate.validate(each, version, strict=True)


@pytest.mark.parametrize("file", ["monitoring-and-care", "cert-manager"])
def test_custom_resources_match_the_schemas_of_their_operators(file: str) -> None:
    resources = [each for each in render("--values", CHART / f"ci/{file}.yaml") if each["kind"] in FILES]
    assert resources
    for each in resources:
        schema = schema_of(each)
        jsonschema.validate(each, schema)
        with pytest.raises(jsonschema.ValidationError, match="speling"):
            jsonschema.validate({**each, "spec": {**each["spec"], "speling": 1}}, schema)


def test_the_set_up_downloads_the_operators() -> None:
    for file in FILES.values():
        assert file.partition("/deploy")[0].partition("/example")[0] in SET_UP.read_text()


def test_the_schemas_reject_a_misspelt_field() -> None:
    (deployment,) = (each for each in render(*MINIMUM) if each["kind"] == "Deployment")
    deployment["spec"]["template"]["spec"]["containers"][0]["livenesProbe"] = {}
    with pytest.raises(kubernetes_validate.ValidationError, match="livenesProbe"):
        kubernetes_validate.validate(deployment, NEWEST, strict=True)


def test_names_are_unique(objects: list[dict[str, Any]]) -> None:
    names = [(each["apiVersion"], each["kind"], each["metadata"]["name"]) for each in objects]
    assert len(names) == len(set(names))


def test_every_pod_is_confined(objects: list[dict[str, Any]]) -> None:
    """No root, no writable root file system, no capabilities, no variables of services."""
    for name, _, pod in pods(objects):
        assert pod["securityContext"]["runAsNonRoot"] is True, name
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
        assert pod["enableServiceLinks"] is False, name
        for container in containers(pod):
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }, name


def test_every_mount_has_a_volume(objects: list[dict[str, Any]]) -> None:
    claims = {each["metadata"]["name"] for each in objects if each["kind"] == "StatefulSet"}
    for name, _, pod in pods(objects):
        volumes = [volume["name"] for volume in pod.get("volumes", ())]
        if name.partition("/")[2] in claims:
            volumes.append("data")
        assert len(volumes) == len(set(volumes)), name
        for container in containers(pod):
            mounts = container.get("volumeMounts", [])
            assert {mount["name"] for mount in mounts} <= set(volumes), name
            assert len({mount["mountPath"] for mount in mounts}) == len(mounts), name


def test_every_file_that_a_setting_of_the_server_names_is_mounted(objects: list[dict[str, Any]]) -> None:
    for owner, _, pod in pods(objects):
        for container in containers(pod):
            if container.get("args") != ["serve"]:
                continue
            mounts = [mount["mountPath"] for mount in container.get("volumeMounts", ())]
            for variable in container.get("env", ()):
                path = re.match(r"(?:.*=)?(/etc/[\w./-]+)$", variable.get("value", ""))
                assert not path or any(path[1].startswith(f"{mount}/") for mount in mounts), (owner, variable)


def test_every_variable_is_a_setting(objects: list[dict[str, Any]]) -> None:
    for name, _, pod in pods(objects):
        for container in containers(pod):
            variables = [each["name"] for each in container.get("env", ())]
            assert {each for each in variables if each.startswith(PREFIX)} <= VARIABLES, name
            assert len(variables) == len(set(variables)), name


def test_every_command_exists(objects: list[dict[str, Any]]) -> None:
    for name, _, pod in pods(objects):
        for container in containers(pod):
            command: Any = metastore
            for word in container.get("args", ()):
                if word.startswith("--"):
                    assert word in {option for each in command.params for option in each.opts}, name
                elif hasattr(command, "commands"):
                    command = command.commands[word]


def test_selectors_find_their_pods(objects: list[dict[str, Any]]) -> None:
    labels = [metadata["labels"] for _, metadata, _ in pods(objects)]
    selectors = [each["spec"]["selector"] for each in objects if each["kind"] == "Service"]
    selectors += [
        each["spec"][key]["matchLabels"]
        for each in objects
        for key in ("selector", "podSelector")
        if each["kind"] in ("Deployment", "StatefulSet", "PodDisruptionBudget", "NetworkPolicy") and key in each["spec"]
    ]
    assert selectors
    for selector in selectors:
        assert [each for each in labels if selector.items() <= each.items()], selector


def test_the_monitor_selects_the_service_of_the_http_port() -> None:
    objects = render("--values", CHART / "ci/monitoring-and-care.yaml")
    (monitor,) = (each for each in objects if each["kind"] == "ServiceMonitor")
    selector = monitor["spec"]["selector"]["matchLabels"]
    services = [each for each in objects if each["kind"] == "Service"]
    (service,) = (each for each in services if selector.items() <= each["metadata"]["labels"].items())
    assert monitor["spec"]["endpoints"][0]["port"] in {port["name"] for port in service["spec"]["ports"]}
    assert service["metadata"]["labels"][monitor["spec"]["jobLabel"]] == "metastore"


def test_the_rules_are_the_rules_of_the_package() -> None:
    (rule,) = (
        each for each in render("--values", CHART / "ci/monitoring-and-care.yaml") if each["kind"] == "PrometheusRule"
    )
    assert rule["spec"] == yaml.safe_load((ROOT / "metastore/monitoring/alerts.yaml").read_text())


def test_the_address_of_the_runbook_can_be_set() -> None:
    values = (
        "--set",
        "monitoring.prometheusRule.enabled=true",
        "--set",
        "monitoring.prometheusRule.runbookUrl=https://w/r",
    )
    (rule,) = (each for each in render(*MINIMUM, *values) if each["kind"] == "PrometheusRule")
    alerts = [each for group in rule["spec"]["groups"] for each in group["rules"] if "alert" in each]
    assert alerts
    assert all(each["annotations"]["runbook_url"] == f"https://w/r#{each['alert'].lower()}" for each in alerts)


def test_calls_have_time_to_finish(objects: list[dict[str, Any]]) -> None:
    (pod,) = (pod for name, _, pod in pods(objects) if name.startswith("Deployment/"))
    (container,) = pod["containers"]
    drain = next(each["value"] for each in container["env"] if each["name"] == "METASTORE_DRAIN_TIMEOUT")
    pause = container["lifecycle"]["preStop"]["exec"]["command"][1]
    assert pod["terminationGracePeriodSeconds"] >= int(drain) + int(pause) + 5


def test_whole_numbers_stay_whole(tmp_path: Path) -> None:
    """Helm reads them as floating-point numbers."""
    (tmp_path / "values.yaml").write_text("settings: {max_message_bytes: 104857600, slow_call_threshold: 0.5}")
    text = template(*MINIMUM, "--values", tmp_path / "values.yaml").stdout
    assert '{name: METASTORE_MAX_MESSAGE_BYTES, value: "104857600"}' in text
    assert '{name: METASTORE_SLOW_CALL_THRESHOLD, value: "0.5"}' in text


def test_the_migration_runs_before_the_servers_of_an_external_database() -> None:
    (job,) = (each for each in render(*MINIMUM) if each["kind"] == "Job")
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    account = job["spec"]["template"]["spec"]["serviceAccountName"]
    hooks = [each for each in render(*MINIMUM) if "helm.sh/hook" in each["metadata"].get("annotations", {})]
    assert account in {each["metadata"]["name"] for each in hooks if each["kind"] == "ServiceAccount"}


BUNDLED = "database.url=,postgresql.enabled=true,postgresql.passwordSecret.name=x,"
VOLUME = "warehouse.uri=/w,warehouse.volume.storage=1Gi,"
CONTRADICTIONS = {
    "database.url and postgresql.enabled contradict": "postgresql.enabled=true",
    "database.url and database.urlSecret contradict": "database.urlSecret.name=x",
    "no database is set": "database.url=",
    "database.url contains a password": "database.url=postgresql://me:secret@host/metastore",
    "database.passwordSecret has no effect": "database.url=,database.urlSecret.name=x,database.passwordSecret.name=x",
    "postgresql.passwordSecret.name is required": "database.url=,postgresql.enabled=true",
    "migration.method=hook": BUNDLED + "migration.method=hook",
    "warehouse.uri is required": "warehouse.uri=",
    "warehouse.uri /w is a path": "warehouse.uri=/w",
    "warehouse.volume has no effect": "warehouse.volume.storage=1Gi",
    "warehouse.volume.existingClaim and": VOLUME + "warehouse.volume.existingClaim=x",
    "accessMode ReadWriteOnce": VOLUME + "warehouse.volume.accessMode=ReadWriteOnce",
    "care.run.enabled needs an image with Spark": "care.run.enabled=true",
    "backup.enabled needs a volume": "backup.enabled=true",
    "backup.volume.existingClaim and": "backup.enabled=true,backup.volume.storage=1Gi,backup.volume.existingClaim=x",
    "backup.volume has no effect": "backup.volume.storage=1Gi",
    "tls.secretName and": "tls.enabled=true,tls.secretName=x,tls.certManager.issuerRef.name=x",
    "tls.enabled needs a certificate": "tls.enabled=true",
    "without tls.enabled": "tls.secretName=x",
    "needs the CA of the clients": "tls.enabled=true,tls.secretName=x,tls.clientCertificates=required",
    "settings.port is set by the chart: use service.port": "settings.port=9083",
    "service.type LoadBalancer publishes": "service.type=LoadBalancer",
    "autoscaling.minReplicas 9 is larger": "autoscaling.enabled=true,autoscaling.minReplicas=9",
    "autoscaling needs resources.requests.cpu": "autoscaling.enabled=true,resources.requests=null",
    "minAvailable and podDisruptionBudget.maxUnavailable": "podDisruptionBudget.minAvailable=1",
    "blocks every drain": "podDisruptionBudget.maxUnavailable=null,podDisruptionBudget.minAvailable=2",
    "serviceAccount.annotations": "serviceAccount.create=false,serviceAccount.annotations.a=b",
}


@pytest.mark.parametrize(("message", "values"), CONTRADICTIONS.items(), ids=CONTRADICTIONS.values())
def test_contradicting_values_fail_with_one_line(message: str, values: str) -> None:
    result = template(*MINIMUM, "--set", values)
    assert result.returncode == 1
    assert result.stdout == ""
    errors = [line for line in result.stderr.splitlines() if "symbolic link" not in line and "--debug" not in line]
    (line,) = filter(None, errors)
    assert message in line


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ("replicaCounts=3", "replicaCounts"),
        ("replicaCount=0", "replicaCount"),
        ("replicaCount=many", "replicaCount"),
        ("service.type=Cluster", "service.type"),
        ("database.url=mysql://host/metastore", "database.url"),
        ("tls.mode=yes", "tls.mode"),
        ("settings.maxThreads=3", "maxThreads"),
        ("warehouse.volume.accessMode=ReadOnlyMany", "accessMode"),
    ],
)
def test_the_schema_rejects_wrong_values(values: str, named: str) -> None:
    result = template(*MINIMUM, "--set", values)
    assert result.returncode == 1
    assert re.search(named, result.stderr)  # between two names, Helm 3.18 and later write a slash instead of a dot


def test_the_schema_lists_every_value() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    described = set(schema["properties"]) - {"global"}
    assert described == set(values)
    for name, section in values.items():
        if isinstance(section, dict) and schema["properties"][name].get("additionalProperties") is False:
            assert set(section) == set(schema["properties"][name]["properties"]), name


def test_the_versions_equal_the_projects() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    project = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert project
    assert chart["version"] == chart["appVersion"] == project[1]
    assert chart["kubeVersion"] == f">={OLDEST}-0"


def test_the_plain_file_is_the_rendered_chart() -> None:
    result = template("--skip-tests", "--values", ROOT / "deploy/kubernetes.values.yaml")
    assert (ROOT / "deploy/kubernetes.yaml").read_text() == result.stdout, "render deploy/kubernetes.yaml again"
