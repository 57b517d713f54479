"""How many drivers fit into the memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_client.errors import SessionError
from spark_client.gateway import memory
from spark_client.gateway.memory import driver_limit

MIB, GIB = 2**20, 2**30


@pytest.fixture(autouse=True)
def no_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    return tmp_path / "spark-defaults.conf"


@pytest.fixture
def container(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(memory, "memory_bytes", lambda: 4 * GIB)
    return monkeypatch


@pytest.mark.parametrize(
    ("size", "heap", "expected"),
    [(4 * GIB, None, 2), (4 * GIB, "512m", 3), (4 * GIB, "2g", 1), (2 * GIB, "1G", 1), (256 * GIB, "1gb", 8)],
)
def test_as_many_as_fit(monkeypatch: pytest.MonkeyPatch, size: int, heap: str | None, expected: int) -> None:
    monkeypatch.setattr(memory, "memory_bytes", lambda: size)
    conf = {"spark.driver.memory": heap} if heap else {}
    assert driver_limit(conf) == expected


@pytest.mark.usefixtures("container")
def test_a_driver_that_does_not_fit_is_rejected() -> None:
    with pytest.raises(
        SessionError,
        match=r"^a driver needs 8692 MiB \(spark.driver.memory=8g and 500 MiB\), and 3486 MiB of 4096 MiB are "
        r"available for drivers: lower spark.driver.memory, or set --max-drivers",
    ):
        driver_limit({"spark.driver.memory": "8g"})


@pytest.mark.usefixtures("container")
def test_the_heap_of_spark_defaults_counts(no_defaults: Path) -> None:
    no_defaults.write_text("spark.driver.memory 512m\n")
    assert driver_limit({}) == 3
    assert driver_limit({"spark.driver.memory": "1g"}) == 2


@pytest.mark.usefixtures("container")
@pytest.mark.parametrize("text", ["much", "1.5g", "-1g", "1q"])
def test_a_size_that_spark_does_not_accept(text: str) -> None:
    with pytest.raises(SessionError, match=rf"^spark.driver.memory={text} is not a size: write 1g or 512m$"):
        driver_limit({"spark.driver.memory": text})


def test_the_largest_message_is_that_of_the_drivers(no_defaults: Path) -> None:
    name = "spark.connect.grpc.maxInboundMessageSize"
    assert memory.message_limit({}) == 128 * MIB
    assert memory.message_limit({name: "1000"}) == 1000
    no_defaults.write_text(f"{name} 4m\n")
    assert memory.message_limit({}) == 4 * MIB
    with pytest.raises(SessionError, match=f"^{name}=big is not a size"):
        memory.message_limit({name: "big"})
    with pytest.raises(SessionError, match=f"^{name}=2g must be less than 2g"):
        memory.message_limit({name: "2g"})
