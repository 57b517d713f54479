"""Which file system serves a scheme, and how it is made: fsspec's, but for S3."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import fsspec

_s3: Final = {"seconds": 15.0}  # that requests to it may take


def set_s3_timeout(seconds: float) -> None:
    """Has requests to S3, in this process, given up that are not answered in so many seconds."""
    _s3["seconds"] = seconds
    _resolved.cache_clear()


def file_system(scheme: str, authority: str) -> tuple[Any, str]:
    """Returns a file system, and what stands before a location's path there."""
    kind, options, root = _resolved(scheme, authority)
    # No listing is cached: others write too.
    return kind(**options, use_listings_cache=False), (root if authority else "").rstrip("/")


@lru_cache(maxsize=64)
def _resolved(scheme: str, authority: str) -> tuple[Callable[..., Any], dict[str, Any], str]:
    """Returns the class of a file system, what its URL tells it, and its root: fsspec's `url_to_fs`, which takes long.

    The path is kept out of the URL, where fsspec gives a meaning to `::`.
    """
    kind, bounds = fsspec.get_filesystem_class(scheme), {}
    if scheme == "s3":
        from metastore.warehouse.s3 import BoundedS3

        kind, bounds = BoundedS3, _s3
    url = f"{scheme}://{authority}"
    return kind, kind._get_kwargs_from_urls(url) | bounds, kind._strip_protocol(url)  # noqa: SLF001 - as url_to_fs does
