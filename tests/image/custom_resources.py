"""Schemas of custom resources that the chart renders, from the Go modules of their operators.

`scripts/set-up` downloads the modules into Go's module cache.
"""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.image.chart import ROOT, find_tool

_OPERATOR: Final = "github.com/prometheus-operator/prometheus-operator@v0.90.1/example/prometheus-operator-crd"
_CERT_MANAGER: Final = "github.com/cert-manager/cert-manager@v1.17.0/deploy/crds"
FILES: Final = {
    "ServiceMonitor": f"{_OPERATOR}/monitoring.coreos.com_servicemonitors.yaml",
    "PrometheusRule": f"{_OPERATOR}/monitoring.coreos.com_prometheusrules.yaml",
    "Certificate": f"{_CERT_MANAGER}/crd-certificates.yaml",
}
"""Kind → its file in the module cache."""
SET_UP: Final = ROOT / "scripts/set-up"


def schema_of(resource: dict[str, Any]) -> dict[str, Any]:
    """Returns the strict JSON schema of a custom resource, by its kind and version. Skips the test without modules."""
    file = _module_cache() / FILES[resource["kind"]]
    if not file.exists():
        pytest.skip(f"{file} is missing. scripts/set-up downloads it if Go is in PATH")
    definition = yaml.safe_load(file.read_text().replace("{{", "").replace("}}", ""))
    version = resource["apiVersion"].partition("/")[2]
    (actual,) = (each for each in definition["spec"]["versions"] if each["name"] == version)
    schema = actual["schema"]["openAPIV3Schema"]
    schema["properties"]["metadata"] = {"type": "object"}
    return _strict(schema)


def _strict(schema: Any) -> Any:
    """Rejects unknown properties, as `kubectl apply --validate=strict` does."""
    if isinstance(schema, list):
        return [_strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    strict = {name: _strict(value) for name, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and not schema.get("x-kubernetes-preserve-unknown-fields"):
        strict.setdefault("additionalProperties", False)
    if isinstance(pattern := schema.get("pattern"), str) and "(?i)" in pattern:
        strict["pattern"] = "(?i)" + pattern.replace("(?i)", "")  # Go allows flags in the middle
    return strict


@cache
def _module_cache() -> Path:
    go = find_tool("go")
    if go is None:
        pytest.skip("Go is missing")
    return Path(subprocess.run([go, "env", "GOMODCACHE"], capture_output=True, text=True, check=True).stdout.strip())
