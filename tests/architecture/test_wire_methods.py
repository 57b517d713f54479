"""Every method of the IDL is either served, or listed as unsupported with a reason."""

from __future__ import annotations

from collections import Counter

from metastore.domain.read_methods import is_read
from metastore.handlers.registry import served
from metastore.protocol.unsupported import REFUSED, refused
from thrift_idl.gen.metastore import Metastore


def wire() -> set[str]:
    """Returns the methods of the generated processor: this project's, Hive's and fb303's."""
    return set(Metastore.Processor(None)._processMap)


def test_every_method_is_served_or_refused() -> None:
    assert wire() - served().keys() - refused().keys() == set()


def test_every_listed_method_is_in_the_idl() -> None:
    assert (served().keys() | refused().keys()) - wire() == set()


def test_no_method_is_listed_twice() -> None:
    names = [*served(), *" ".join(refusal.methods for refusal in REFUSED.values()).split()]
    assert {name: count for name, count in Counter(names).items() if count > 1} == {}


def test_every_refusal_has_a_reason() -> None:
    assert [domain for domain, refusal in REFUSED.items() if not refusal.reason.strip()] == []


def test_no_change_has_the_name_of_a_read() -> None:
    """Clients retry methods whose names mark them as reads."""
    assert [name for name, method in served().items() if method.operation.is_change and is_read(name)] == []
