"""The gateway's checks of raw messages of Spark Connect."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_client.gateway.messages import rejection

SERVICE = "/spark.connect.SparkConnectService"


def rejected_upload(message: bytes) -> str | None:
    return rejection(f"{SERVICE}/AddArtifacts", message)


def rejected_command(message: bytes) -> str | None:
    return rejection(f"{SERVICE}/ExecutePlan", message)


def varint(number: int) -> bytes:
    encoded = b""
    while number > 0x7F:
        encoded, number = encoded + bytes([number & 0x7F | 0x80]), number >> 7
    return encoded + bytes([number])


def field(number: int, value: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(value)) + value


def batch(*names: str) -> bytes:
    artifacts = [field(1, field(1, name.encode()) + field(2, field(1, b"data" * 100))) for name in names]
    return field(1, b"session") + field(3, b"".join(artifacts))


def first_chunk(name: str) -> bytes:
    """A chunked upload also has numbers, which are not names: total_bytes, num_chunks."""
    return field(1, b"session") + field(4, field(1, name.encode()) + b"\x10\xff\x01\x18\x02" + field(4, b""))


@pytest.mark.parametrize("name", ["cache/0123", "pyfiles/module.py", "files/data.csv"])
def test_data_and_python_modules_are_accepted(name: str) -> None:
    assert rejected_upload(batch(name)) is None
    assert rejected_upload(first_chunk(name)) is None


@pytest.mark.parametrize(
    "name",
    ["jars/a.jar", "classes/A.class", "archives/a.zip", "forward_to_fs/a", "cache/../jars/a.jar", "Jars/a", "/a", ""],
)
def test_other_uploads_are_rejected(name: str) -> None:
    assert rejected_upload(batch("cache/1", name)) == f"uploading {name!r}"
    assert rejected_upload(first_chunk(name)) == f"uploading {name!r}"


def test_every_upload_name_of_a_message_is_checked() -> None:
    twice = field(3, field(1, field(1, b"cache/1") + field(1, b"jars/a.jar")))
    assert rejected_upload(twice) == "uploading 'jars/a.jar'"
    assert rejected_upload(batch("cache/1") + batch("jars/b.jar")) == "uploading 'jars/b.jar'"


def test_a_chunk_has_no_name() -> None:
    assert rejected_upload(field(1, b"session") + field(5, field(1, b"jars/a.jar"))) is None


@pytest.mark.parametrize("command", [1, 2, 3, 4, 5, 8, 10, 12, 14, 15, 16])
def test_commands_that_are_plans_are_accepted(command: int) -> None:
    assert rejected_command(field(1, b"s") + field(3, field(2, field(command, field(1, b"x"))))) is None


@pytest.mark.parametrize("command", [6, 7, 9, 11, 13, 17, 18, 19, 20, 999])
def test_other_commands_are_rejected(command: int) -> None:
    text = rejected_command(field(1, b"s") + field(3, field(2, field(command, b"x"))))
    assert str(text).startswith(f"command {command} ")
    two = field(3, field(1, b"root")) + field(3, field(2, field(5, b"sql") + field(command, b"x")))
    assert rejected_command(two) is not None


def test_java_functions_are_rejected() -> None:
    def registered(kind: int) -> bytes:
        return field(3, field(2, field(1, field(1, b"name") + field(kind, b"function"))))

    assert rejected_command(registered(4)) is None  # Python
    assert rejected_command(registered(6)) == "a Java function"


@pytest.mark.parametrize("bit", [32, 40, 63])
def test_a_tag_that_java_would_cut_to_32_bits_is_malformed(bit: int) -> None:
    """Otherwise the message would have a jar or a plan for Java, and an unknown field for the gateway."""
    cut = (1 << bit) >> 3
    for message, rejected in (
        (field(cut | 3, field(1, field(1, b"jars/a.jar"))), rejected_upload),
        (field(3, field(cut | 1, field(1, b"jars/a.jar"))), rejected_upload),
        (field(cut | 3, field(2, field(17, b"ml"))), rejected_command),
        (field(3, field(2, field(cut | 17, b"ml"))), rejected_command),
    ):
        with pytest.raises(ValueError, match="number of a field is too large"):
            rejected(message)


def test_compressed_plans_are_rejected() -> None:
    assert rejected_command(field(3, field(3, b"zstd"))) == "a compressed plan"


def test_other_methods_are_not_parsed() -> None:
    assert rejection(f"{SERVICE}/AnalyzePlan", b"\xff") is None
    assert rejected_command(field(3, field(1, b"relation"))) is None


@given(st.binary(max_size=60))
def test_rubbish_is_a_value_error_or_an_answer(message: bytes) -> None:
    for rejected in (rejected_upload, rejected_command):
        try:
            answer = rejected(message)
        except ValueError:
            continue
        assert answer is None or len(answer) > 5
