"""Locations that clients and libraries interpret in different ways."""

from __future__ import annotations

import os
from pathlib import Path


def odd(warehouse: str, outside: Path) -> list[str]:
    """Locations that another library may read as a different path. Some are plain names below the warehouse."""
    path = warehouse.removeprefix("file:")
    up = os.path.relpath(outside, path)
    encoded, twice, wide = (up.replace("..", dots) for dots in ("%2e%2e", "%252e%252e", "\uff0e\uff0e"))
    return [
        *(f"{path}/{text}/a" for text in (encoded, twice, wide, up.replace("/", "%2f"), up.replace("/", "\\"))),
        *(f"file:{path}/{text}/a" for text in (encoded, twice, wide)),
        *(f"{path}/x{sign}/{up}/../a" for sign in ("", ".", " ", "%00", "\t", "\u202e", "\u2215", "\ufeff")),
        *(f"{path}/{name}" for name in ("...", ". .", "a.", "a ", "~", "$HOME", "`id`", "*", "?", "[a]", "-rf", "#f")),
        *(
            f"{path}/{name}"
            for name in ("a\x00b", "a\nb", "a\rb", "\x7f", "e\u0301", "\u00e9", "a;b", "a:b", "a|b", "a::b")
        ),
        f"{path}/{'x' * 300}",
        f"{path}/{'x/' * 3000}a",
    ]


def elsewhere(warehouse: str, outside: Path, port: int) -> list[str]:
    """The same, for locations that lead elsewhere."""
    path, at = warehouse.removeprefix("file:"), f"127.0.0.1:{port}"
    up = os.path.relpath(outside, path)
    return [
        f"{path}/x::http://{at}/y",
        f"{path}::http://{at}/y",
        f"file:{path}::ftp://{at}/y",
        f"s3a://user:password@{at}/bucket/a",
        f"http://user:password@{at}/a",
        f"hdfs://{at}/{up}/a",
        f"s3://{at}@bucket/a",
        f"s3a://bucket/../{outside}/a",
        f"s3a://bucket/..%2f..{outside}/a",
        *(f"{location}/a" for location in (f"gs://{at}", f"abfss://container@{at}", f"abfs://{at}#{outside}")),
        f"file://{outside}",
        f"file:////{outside}/a",
        f"file://127.1{outside}/a",
        f"file://0{outside}/a",
        f"file://localhost:{port}{outside}/a",
        f"file://[::1]{outside}/a",
        f"file://LOCALHOST{outside}/a",
        f"file://%6cocalhost{outside}/a",
        f"file://user@localhost{outside}/a",
        f"fIlE:{outside}/a",
        f"file+http://{at}/a",
        f"file:http://{at}/a",
        f"dir::file:{outside}/a",
        f"blockcache::file:{outside}/a",
        *(f"{scheme}://{at}/a" for scheme in ("dfs", "libarchive", "arrow_hdfs")),
        f"\\\\{at}\\share",
        f"//{at}/share",
        f"{outside}/../outside/a",
        f"/proc/self/cwd/{up}/a",
        f"/proc/self/root{outside}/a",
        f"/dev/fd/../..{outside}/a",
        "",
        " ",
        "\x00",
        ".",
        "..",
        "../../../../../../etc/x",
        "file:",
        "file://",
        "file:///",
        "//",
        "C:\\x",
    ]
