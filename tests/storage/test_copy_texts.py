"""Texts for COPY: arrays and JSON objects are encoded many at once, and read back as they were."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import NullPool, create_engine, text

from metastore.storage.postgres.arrays import array_literal, array_literals
from metastore.storage.postgres.json_texts import json_objects

TEXTS = st.text(st.sampled_from('ab\x01\x1e"\\{},: é\n') | st.characters(codec="utf-8", exclude_characters="\0"))


@given(st.lists(st.lists(st.none() | TEXTS)))
def test_literals_of_many_arrays_equal_single_literals(arrays: list[list[str | None]]) -> None:
    assert array_literals(arrays) == [array_literal(texts) for texts in arrays]


@given(st.lists(st.dictionaries(TEXTS, TEXTS)))
def test_many_json_objects_equal_single_ones(maps: list[dict[str, str]]) -> None:
    assert json_objects(maps) == [json.dumps(one) for one in maps]


def test_postgres_reads_the_arrays_back(database_url: str) -> None:
    arrays = [["a", 'b"\\', ""], ["{}", ",", "NULL"], ["\x01"]]
    query = text("SELECT cast(:array AS text[])")
    with create_engine(database_url, poolclass=NullPool).connect() as connection:
        read = [connection.execute(query, {"array": literal}).scalar_one() for literal in array_literals(arrays)]
    assert read == arrays


def test_a_nul_character_is_rejected() -> None:
    with pytest.raises(ValueError, match="NUL"):
        array_literals([["a"], ["b\0c"]])
