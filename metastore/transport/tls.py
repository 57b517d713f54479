"""The TLS stream of one connection."""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import Sequence
from typing import Any, Final

from thrift.transport.TTransport import TTransportException

from metastore.transport.certificate import reason_of
from metastore.transport.streams import Chunk, first_piece

FIRST_BYTE: Final = b"\x16"  # a TLS handshake record; as the length of a Thrift frame, it would be 369 MB or more
REFUSED: Final = b"\x15\x03\x03\x00\x02\x02\x28"  # a TLS alert: fatal, handshake_failure
_MAX_RECORD: Final = 2**14  # bytes


class TlsStream:
    """TLS on a socket. OpenSSL reads and writes the socket itself: one call per record, instead of one for the memory
    buffer and one for the socket, keeps threads from switching more often than without TLS.
    """

    def __init__(self, sock: socket.socket, context: ssl.SSLContext) -> None:
        """Takes over the file descriptor; `socket` replaces `sock`.

        Raises TTransportException if the peer has closed already; the descriptor is closed then.
        """
        try:
            self.socket = context.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
        except OSError as error:
            raise _lost("closed by the peer before its handshake") from error
        self._read, self._write = self.socket.read, self.socket.write
        self._unsent: Chunk = b""  # OpenSSL must be called again with the same bytes

    @property
    def peer_certificate(self) -> dict[str, Any]:
        """The decoded client certificate, and its encoding as `DER`; empty if the client has sent none."""
        decoded = self.socket.getpeercert()
        return {**decoded, "DER": self.socket.getpeercert(True)} if decoded else {}  # noqa: FBT003 - positional only

    def shake_hands(self) -> bool:
        """Continues the handshake. Returns False if more bytes must arrive. Raises TTransportException if it fails."""
        try:
            self.socket.do_handshake()
        except ssl.SSLWantReadError:
            return False
        except ssl.SSLEOFError as error:
            raise _lost("closed by the peer inside a handshake") from error
        except ssl.SSLWantWriteError as error:  # a handshake fits into the socket's buffer: this peer never reads
            raise _lost("closed: the client does not read the handshake") from error
        except ssl.SSLError as error:
            raise TTransportException(message=f"TLS: {reason_of(error)}") from error
        except OSError as error:
            raise _lost(f"lost: {error.strerror}") from error
        return True

    def recv(self, size: int, /) -> bytes:
        """Receives (`Stream.recv`). Raises TTransportException if a record was modified."""
        try:
            first = self._read(_MAX_RECORD)
            return first if len(first) < _MAX_RECORD else self._read_more(first, size)
        except ssl.SSLWantReadError:
            raise BlockingIOError from None
        except ssl.SSLError as error:
            raise TTransportException(message=f"TLS: {reason_of(error)}") from error

    def sendmsg(self, chunks: Sequence[Chunk], /) -> int:
        """Sends (`Stream.sendmsg`)."""
        self._unsent = piece = self._unsent or first_piece(chunks)
        try:
            self._write(piece)  # all of it, or SSLWantWriteError
        except ssl.SSLWantWriteError:
            raise BlockingIOError from None
        except ssl.SSLError as error:
            raise BrokenPipeError(0, reason_of(error)) from error
        self._unsent = b""
        return len(piece)

    def _read_more(self, first: bytes, size: int) -> bytes:
        """Reads further records, up to `size` bytes in all."""
        pieces, left = [first], size - len(first)
        with contextlib.suppress(ssl.SSLWantReadError):
            while left > 0 and (piece := self._read(_MAX_RECORD)):
                pieces.append(piece)
                left -= len(piece)
        return b"".join(pieces)


def _lost(text: str) -> TTransportException:
    return TTransportException(TTransportException.NOT_OPEN, text)
