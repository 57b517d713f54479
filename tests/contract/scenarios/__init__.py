"""The calls that both metastores get, by noun. Each scenario has its own database, with its own name."""

from __future__ import annotations

from collections.abc import Callable

from tests.contract.recording import Recorder

Scenario = Callable[[Recorder, str], None]
SCENARIOS: dict[str, Scenario] = {}


def scenario(play: Scenario) -> Scenario:
    """Adds a function to the scenarios, under its name."""
    name = play.__name__
    assert name not in SCENARIOS, f"two scenarios are called {name}"
    SCENARIOS[name] = play
    return play
