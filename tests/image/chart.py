"""Renders the Helm chart. `scripts/set-up` installs helm."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy/helm"
OLDEST, NEWEST = "1.27.0", "1.37.0"
"""The versions of Kubernetes against whose API schemas the chart is checked. Chart.yaml requires the oldest."""


def find_tool(name: str) -> str | None:
    """Returns a program of the virtual environment or of PATH."""
    return shutil.which(name, path=str(Path(sys.prefix) / "bin")) or shutil.which(name)


def helm(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [find_tool("helm") or "helm", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def template(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Renders the chart for a release named metastore."""
    return helm("template", "metastore", CHART, "--kube-version", OLDEST, *arguments)


def render(*arguments: object) -> list[dict[str, Any]]:
    """Returns the rendered objects."""
    result = template(*arguments)
    assert result.returncode == 0, result.stderr
    return [document for document in yaml.safe_load_all(result.stdout) if document]


def pods(objects: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Yields (kind/name of the object, metadata of its pods, specification of its pods)."""
    for each in objects:
        template = each
        if each["kind"] == "CronJob":
            template = each["spec"]["jobTemplate"]["spec"]["template"]
        elif each["kind"] in ("Deployment", "StatefulSet", "Job"):
            template = each["spec"]["template"]
        elif each["kind"] != "Pod":
            continue
        yield f"{each['kind']}/{each['metadata']['name']}", template["metadata"], template["spec"]


def containers(pod: dict[str, Any]) -> list[dict[str, Any]]:
    return [*pod.get("initContainers", ()), *pod["containers"]]
