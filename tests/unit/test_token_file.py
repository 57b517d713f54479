"""The token file of the HTTP port."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from metastore.errors import ConfigurationError
from metastore.web.token_file import load, load_or_create


def test_concurrent_servers_share_one_token(tmp_path: Path) -> None:
    path = tmp_path / "data" / "http.token"
    with ThreadPoolExecutor(8) as threads:
        tokens = set(threads.map(load_or_create, [path] * 32))
    assert tokens == {load(path)}
    assert len(tokens.pop()) >= 40
    assert path.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in path.parent.iterdir()] == ["http.token"], "no temporary file is left"


@pytest.mark.parametrize("mode", [0o400, 0o440, 0o640])
def test_an_existing_token_is_kept(tmp_path: Path, mode: int) -> None:
    """Secrets of Kubernetes with fsGroup have the mode 0440."""
    path = tmp_path / "token"
    path.write_text(" secret \n")
    path.chmod(mode)
    assert load_or_create(path) == "secret"


@pytest.mark.parametrize("mode", [0o604, 0o444, 0o620, 0o666])
def test_a_file_that_others_can_access_is_rejected(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "token"
    path.write_text("secret")
    path.chmod(mode)
    with pytest.raises(ConfigurationError, match="chmod g-w,o="):
        load(path)


def test_an_empty_or_missing_file_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "token"
    with pytest.raises(ConfigurationError, match=r"does not exist\. Set METASTORE_HTTP_TOKEN_FILE"):
        load(path)
    path.touch(0o600)
    with pytest.raises(ConfigurationError, match="is empty"):
        load(path)
