"""Code is compiled once per JVM."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier, BrokenBarrierError

from spark_client.jvm.capabilities import once_per_gateway


def test_concurrent_threads_get_the_same_object() -> None:
    inside = Barrier(2, timeout=0.2)

    @once_per_gateway
    def make(gateway: str) -> list[str]:
        with suppress(BrokenBarrierError):
            inside.wait()
        return [gateway]

    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(make, ["gateway", "gateway"])
    assert first is second
    assert make("another") == ["another"]
