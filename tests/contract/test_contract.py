"""Our server and Hive Metastore 2.3.10 give the same answers, except for intended differences."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

from tests.contract import scenarios
from tests.contract.comparing import Finding, compare
from tests.contract.differences import DIFFERENCES
from tests.contract.recording import Recorder
from tests.contract.scenarios import SCENARIOS
from tests.fixtures.real_hive import JARS, RealHive
from tests.fixtures.server import Server, running
from thrift_idl.gen.hive_metastore.ttypes import Database

for module in iter_modules(scenarios.__path__):
    import_module(f"{scenarios.__name__}.{module.name}")

Comparer = Callable[[str], list[Finding]]


@pytest.fixture(scope="module")
def our_server(make_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Our server, empty like the real one."""
    folder: Path = tmp_path_factory.mktemp("ours")
    with running(make_database(), folder) as server:
        yield server


@pytest.fixture(scope="module")
def findings(real_hive: RealHive, our_server: Server) -> Comparer:
    """Returns the differences of a scenario; each scenario is run once."""

    @cache
    def play(name: str) -> list[Finding]:
        return compare(name, *(record(side, name) for side in (real_hive, our_server)))

    return play


def record(side: RealHive | Server, name: str) -> dict[str, object]:
    recorder = Recorder(side.host, side.port, side.warehouse)
    try:
        recorder.call("create_database", (Database(name=name),))
        SCENARIOS[name](recorder, name)
    finally:
        recorder.close()
    return recorder.steps


# Statistics after CREATE TABLE have the same kinds of changes.
_LONG = {f"accuracy_of_{what}" for what in ("changed_columns", "added_partitions", "altered_partitions")}


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=pytest.mark.long if each in _LONG else []) for each in SCENARIOS]
)
def test_ours_answers_as_hive_does(name: str, findings: Comparer, real_hive: RealHive) -> None:
    if name == "notifications" and not real_hive.notifies:
        pytest.skip(f"needs the jar hive-hcatalog-server-extensions, of Maven Central, in the folder that {JARS} names")
    unlisted = [each for each in findings(name) if not any(difference.covers(each) for difference in DIFFERENCES)]
    assert not unlisted, "\n" + "\n".join(map(str, unlisted))


@pytest.mark.slow
@pytest.mark.long
def test_every_listed_difference_occurs(findings: Comparer) -> None:
    actual = [finding for name in SCENARIOS if name != "notifications" for finding in findings(name)]
    gone = [str(difference) for difference in DIFFERENCES if not any(map(difference.covers, actual))]
    assert not gone, "these no longer differ:\n" + "\n".join(gone)
