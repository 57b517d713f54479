"""nginx and HAProxy of Debian, in front of a metastore."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.fixtures.real_hive import free_port
from tests.wire.security.conftest import PATIENCE, Authority, Pem

_NGINX = """
daemon off;
{user}
worker_processes 1;
pid {folder}/pid;
error_log {folder}/log info;
events {{}}
http {{
    access_log {folder}/access;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    upstream metastore {{
        server localhost:{above};
        {keepalive}
    }}
    server {{
        listen 127.0.0.1:{port} ssl;
        ssl_certificate {pem.chain};
        ssl_certificate_key {pem.key};
        location /metastore {{
            proxy_pass {scheme}://metastore;
            proxy_ssl_trusted_certificate {ca};
            proxy_ssl_verify on;
            proxy_ssl_name localhost;
            proxy_read_timeout 10m;
            client_max_body_size 100m;
            {connection}
        }}
    }}
}}
"""

_HAPROXY = """
defaults
    mode tcp
    timeout connect 5s
    timeout client {idle}
    timeout server {idle}
listen metastore
    bind 127.0.0.1:{port}
{servers}
"""

_HAPROXY_HTTP = """
defaults
    mode http
    timeout connect 5s
    timeout client 1h
    timeout server 1h
    http-reuse always
listen metastore
    bind 127.0.0.1:{port} ssl crt {folder}/host.pem
    server above 127.0.0.1:{above} ssl verify required ca-file {ca} sni str(localhost) pool-max-conn 1
"""


@contextmanager
def nginx(
    folder: Path, pem: Pem, authority: Authority, above: int, *, scheme: str = "https", shared: bool = False
) -> Iterator[int]:
    """Runs a reverse proxy with TLS, and yields its port. `above`: the port of the metastore. `scheme` to it: http or
    https. `shared`: clients share one connection to the metastore, which stays open.
    """
    port = free_port()
    text = _NGINX.format(
        user="user root;" if os.geteuid() == 0 else "",
        folder=folder,
        pem=pem,
        ca=authority.pem,
        above=above,
        port=port,
        scheme=scheme,
        keepalive="keepalive 1;" if shared else "",
        connection='proxy_http_version 1.1; proxy_set_header Connection "";' if shared else "",
    )
    (folder / "nginx.conf").write_text(text)
    with _running("nginx", "-e", str(folder / "log"), "-c", str(folder / "nginx.conf"), port=port):
        yield port


@contextmanager
def haproxy(folder: Path, *above: int, idle: str = "1h", options: str = "") -> Iterator[int]:
    """Runs a TCP proxy in front of metastores on these ports, and yields its port. `idle`: the time after which it
    closes idle connections. `options`: more options of each server, such as `send-proxy`.
    """
    port = free_port()
    servers = "\n".join(f"    server s{each} 127.0.0.1:{each} check inter 200ms {options}" for each in above)
    (folder / "haproxy.cfg").write_text(_HAPROXY.format(port=port, servers=servers, idle=idle))
    with _running("haproxy", "-db", "-f", str(folder / "haproxy.cfg"), port=port):
        yield port


@contextmanager
def haproxy_http(folder: Path, pem: Pem, authority: Authority, above: int) -> Iterator[int]:
    """Runs HAProxy as a reverse proxy with TLS, whose clients share connections to the metastore. Yields its port."""
    port = free_port()
    (folder / "host.pem").write_bytes(pem.chain.read_bytes() + pem.key.read_bytes())
    (folder / "haproxy.cfg").write_text(_HAPROXY_HTTP.format(port=port, folder=folder, above=above, ca=authority.pem))
    with _running("haproxy", "-db", "-f", str(folder / "haproxy.cfg"), port=port):
        yield port


@contextmanager
def _running(name: str, *arguments: str, port: int) -> Iterator[None]:
    """Runs a program until its port has accepted a connection, and then until the end of the block."""
    program = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        pytest.skip(f"no {name}: apt-get install {name}")
    with subprocess.Popen([program, *arguments], stderr=subprocess.PIPE, text=True) as process:
        try:
            _wait_for(port, process)
            yield
        finally:
            process.terminate()


def _wait_for(port: int, process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        assert process.poll() is None, process.communicate()[1]
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise TimeoutError(f"{process.args} does not listen")
