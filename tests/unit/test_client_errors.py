"""Messages for errors that the Spark client does not raise itself."""

from __future__ import annotations

import pytest

from spark_client.errors import first_line


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("\n[PARSE_SYNTAX_ERROR] here\n\n== SQL ==\nx"), "[PARSE_SYNTAX_ERROR] here"),
        (ValueError("  "), "ValueError"),
        (KeyError("a"), "'a'"),
    ],
)
def test_the_first_line_with_information_is_used(error: Exception, line: str) -> None:
    assert first_line(error) == line
