"""HTTP requests to services that the settings name, with limits for the time and size of the answer."""

from __future__ import annotations

import time
import urllib.request
from collections.abc import Callable
from typing import Any, Final

_PART: Final = 2**16  # bytes


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Treats a redirect as an error: it could lead to another host, or from https to http."""

    def redirect_request(self, *_: Any) -> None:
        return None


def make_opener(*handlers: urllib.request.BaseHandler) -> urllib.request.OpenerDirector:
    """Returns an opener that follows no redirects."""
    return urllib.request.build_opener(_NoRedirects, *handlers)


def fetch(
    opener: urllib.request.OpenerDirector,
    request: urllib.request.Request,
    *,
    timeout: float,
    limit: int,
    clock: Callable[[], float] = time.monotonic,
) -> bytes:
    """Returns the body of the answer. `timeout`: seconds. `limit`: bytes.

    Raises OSError or http.client.HTTPException, and ValueError if the answer is too large.
    """
    deadline, answer = clock() + timeout, bytearray()
    with opener.open(request, timeout=timeout) as response:
        # The timeout of a socket applies to each receive: an answer in small parts could take forever.
        while part := response.read1(_PART):
            answer += part
            if len(answer) > limit:
                raise ValueError(f"its answer is larger than {limit} bytes")
            if clock() > deadline:
                raise TimeoutError(f"its answer takes longer than {timeout:g} s")
    return bytes(answer)
