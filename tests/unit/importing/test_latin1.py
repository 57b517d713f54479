"""Which texts of latin1 columns are UTF-8: decided once for a database."""

from __future__ import annotations

import pytest

from metastore.importing.sources.latin1 import Latin1Texts

UNDEFINED = (0x81, 0x8D, 0x8F, 0x90, 0x9D)  # bytes that cp1252 does not have, and MySQL does
NAME, COMMENT = ("DBS", "NAME"), ("COLUMNS_V2", "COMMENT")


def stored(text: str) -> str:
    """Returns what a latin1 column of MySQL returns after a client has written UTF-8 into it."""
    return "".join(bytes((byte,)).decode("cp1252") if byte not in UNDEFINED else chr(byte) for byte in text.encode())


def texts(*of_database: str) -> Latin1Texts:
    return Latin1Texts([NAME, COMMENT], lambda column: list(of_database) if column == COMMENT else [])


@pytest.mark.parametrize("text", ["Umsätze", "Größe ☃", "Ø’ƒ", "金額", "plain", ""])
def test_utf8_is_decoded_and_found(text: str) -> None:
    of_database = texts(stored("Umsätze"))
    assert of_database.decoded(stored(text)) == text
    assert stored(text) in of_database.spellings([text])


def test_a_database_of_latin1_is_not_changed() -> None:
    of_database = texts("Größe", "Maß", stored("ä"))
    for text in ("Größe", stored("ä"), "Ã¤ is how UTF-8 looks"):
        assert of_database.decoded(text) == text
    assert of_database.spellings(["Größe"]) == ["Größe"]
    details = [one.detail for one in of_database.findings()]
    assert details == [
        "'Ã¤' stays as it is: most texts of this database are latin1",
        "'Größe' stays as it is: it is not UTF-8",
        "'Maß' stays as it is: it is not UTF-8",
    ]


def test_a_single_latin1_text_of_a_database_of_utf8_stays() -> None:
    of_database = texts(stored("Umsätze"), stored("größe"), "Maß")
    assert of_database.decoded("Maß") == "Maß"
    assert of_database.decoded("☃") == "☃"  # of no latin1 column at all
    found = [(one.kind, one.object, one.detail) for one in of_database.findings()]
    assert found[0] == ("latin1", "COLUMNS_V2.COMMENT", "'UmsÃ¤tze' is read as UTF-8: 'Umsätze'")


def test_ascii_texts_ask_nothing() -> None:
    def read(column: tuple[str, str]) -> list[str]:
        raise AssertionError(column)

    of_database = Latin1Texts([NAME], read)
    assert of_database.decoded("plain") == "plain"
    assert of_database.spellings(["plain"]) == ["plain"]


@pytest.mark.parametrize(("encoding", "text"), [("utf8", "ä"), ("latin1", stored("ä"))])
def test_a_decision_is_kept_whatever_the_texts_are_later(encoding: str, text: str) -> None:
    for later in (texts("Größe", "Maß", stored("ä")), texts(stored("Umsätze")), texts()):
        assert later.read_as(encoding) == encoding
        assert later.decoded(stored("ä")) == text


def test_a_database_without_such_texts_counts_as_utf8() -> None:
    assert texts().read_as(None) == "utf8"
    assert texts("Größe").read_as(None) == "latin1"
