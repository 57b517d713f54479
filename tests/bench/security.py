"""Cost of TLS, authorization and Kerberos: python -m tests.bench.security [--calls] [--seconds 0.5] [--rounds 12].

Servers of one database take turns. Processor time is that of their processes, on which other work on the machine has
little effect. With --handshakes 1000000, it instead checks for leaks after damaged handshakes.
"""

from __future__ import annotations

import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from statistics import median, quantiles

import click
import pytest
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport

from metastore.client.sasl import Gssapi, SaslTransport
from metastore.server_certificate import Certificate
from tests.bench import mutations
from tests.bench.load import Connection, Load, encode
from tests.bench.servers import Postgres, Side, ours, postgres
from tests.bench.workload import Workload
from tests.wire.security.conftest import Authority, running_realm, ticket_of
from tests.wire.security.test_jwt import Issuer

PLAIN, TLS, RIGHTS = "plain", "TLS", "rights on"
WHO = encode("set_ugi", "bench", [])
REPLIES = 5
HANDSHAKES = 1_000  # a second
AT_ONCE = 16
BESIDE = 4  # rounds of each kind
_PIECE = 2**18  # bytes that the server wraps at once
_SMALL = 2**10


@click.group(invoke_without_command=True)
@click.option("--seconds", default=0.5, show_default=True, help="Seconds of each round.")
@click.option("--rounds", default=12, show_default=True, help="Rounds of small calls for each kind of connection.")
@click.option("--calls", "only_calls", is_flag=True, help="Only small calls over 16 connections, plain and TLS.")
@click.option("--partitions", default=10_000, show_default=True, help="Partitions of 40 columns in the large reply.")
@click.option("--handshakes", "damaged", type=int, help="Only this number of damaged handshakes.")
@click.option("--sockets", default=20_000, show_default=True, help="Damaged handshakes through a running server.")
@click.option("--seed", default=0, show_default=True, help="Seed of the random damage.")
@click.pass_context
def main(
    context: click.Context,
    seconds: float,
    rounds: int,
    partitions: int,
    damaged: int | None,
    sockets: int,
    seed: int,
    *,
    only_calls: bool,
) -> None:
    """Runs all measurements."""
    if context.invoked_subcommand:
        return
    if damaged is not None:
        sys.exit(_damaged(damaged, sockets, seed))
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        folder.chmod(0o755)  # PostgreSQL may run as another user
        authority = Authority(folder / "pki")
        pem = authority.issue("localhost")
        options = {
            PLAIN: (),
            TLS: ("--tls", "required", "--tls-certificate", str(pem.chain), "--tls-key", str(pem.key)),
            RIGHTS: ("--authorization", "grants", "--admins", "root"),
        }
        if only_calls:
            del options[RIGHTS]
        database = stack.enter_context(postgres(folder / "postgres"))
        sides = {
            kind: stack.enter_context(ours(database, folder / kind.split()[0], "ours", *more))
            for kind, more in options.items()
        }
        workload = Workload(f"file:{folder}/wide", 10 if only_calls else partitions, 40, 1_000, shared_directories=True)
        _fill(workload, sides[PLAIN])
        request, _ = workload.reads()["get_table, 16 connections"]
        _busy(sides, request, _trusting(authority), seconds, rounds, (16,) if only_calls else (16, 1))
        if only_calls:
            return
        everything = encode("get_partitions", workload.database, workload.table, -1)
        _large(sides, everything, _trusting(authority))
        _beside_handshakes(sides[TLS], request, authority, 4 * seconds)
        _kerberos(database, folder, everything)


def _damaged(count: int, sockets: int, seed: int) -> int:
    """Returns the exit status: 1 if a forbidden outcome was found."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        folder.chmod(0o755)
        authority, issuer = Authority(folder / "pki"), Issuer(folder / "keys.json")
        issuer.add("one")
        pem = authority.issue("localhost")
        keytab = _realm(stack)
        options = mutations.settings_of(folder, issuer, keytab)
        click.echo(f"{count:,} damaged handshakes, in one process ({options['authentication']})")
        certificate = Certificate(pem.chain, pem.key)
        actual = mutations.in_process(count, seed, authority, certificate, issuer, options)
        mutations.tell("visits", actual)
        wrong = list(actual.wrong)
        if sockets:
            given = [text for pair in options.items() for text in (f"--{pair[0].replace('_', '-')}", pair[1])]
            given += ["--tls", "allowed", "--tls-certificate", str(pem.chain), "--tls-key", str(pem.key)]
            database = stack.enter_context(postgres(folder / "postgres"))
            side = stack.enter_context(ours(database, folder / "server", "ours", *given))
            token = mutations.token_of(side) if keytab else mutations.NO_TOKEN
            clients = mutations.Clients(authority, token, mutations.bearer_of(issuer), kerberos=bool(keytab))
            click.echo(f"{sockets:,} through the sockets of a server with two workers")
            actual = mutations.through_sockets(sockets, seed, side, clients, folder / "server" / "server.log")
            mutations.tell("connections", actual)
            wrong += actual.wrong
        return 1 if wrong else 0


def _realm(stack: ExitStack) -> str | None:
    """Joins this process to a realm, with alice's ticket. Returns the server's keytab, or None without a KDC."""
    try:
        actual = stack.enter_context(running_realm())
    except pytest.skip.Exception as reason:
        click.echo(f"without Kerberos: {reason}")
        return None
    patch = stack.enter_context(pytest.MonkeyPatch.context())
    for name, value in actual.env.items():
        if name.startswith("KRB5"):
            patch.setenv(name, value)
    stack.enter_context(ticket_of(actual, "alice"))
    return str(actual.keytab)


@main.command()
@click.argument("host")
@click.argument("port", type=int)
@click.argument("authority", type=click.Path(path_type=Path))
def handshakes(host: str, port: int, authority: Path) -> None:
    """Resumes a TLS session again and again until standard input ends. Prints how often a second."""
    context = ssl.create_default_context(cafile=str(authority))
    with context.wrap_socket(socket.create_connection((host, port)), server_hostname="localhost") as first:
        first.sendall(encode("getName"))
        first.recv(4096)
        session = first.session
    click.echo("ready")
    resumed: list[bool] = []
    ended = threading.Event()

    def work() -> None:
        mine, begun = 0, time.perf_counter()
        while not ended.wait(max(0.0, mine * AT_ONCE / HANDSHAKES - (time.perf_counter() - begun))):
            bare = socket.create_connection((host, port))
            with context.wrap_socket(bare, server_hostname="localhost", session=session) as again:
                resumed.append(bool(again.session_reused))
            mine += 1

    begun = time.perf_counter()
    threads = [threading.Thread(target=work) for _ in range(AT_ONCE)]
    for thread in threads:
        thread.start()
    sys.stdin.readline()
    ended.set()
    elapsed, count = time.perf_counter() - begun, len(resumed)
    for thread in threads:
        thread.join()
    click.echo(f"{count / elapsed:.0f} handshakes a second, {sum(resumed) / max(1, len(resumed)):.0%} of them resumed")


@main.command()
@click.argument("share", type=float)
def burn(share: float) -> None:
    """Uses this share of a core until standard input ends."""
    threading.Thread(target=_burn, args=(share,), daemon=True).start()
    click.echo("ready")
    sys.stdin.readline()


def _burn(share: float) -> None:
    while True:
        until = time.thread_time() + share / 200
        begun = time.perf_counter()
        while time.thread_time() < until:
            pass
        time.sleep(max(0.0, 1 / 200 - (time.perf_counter() - begun)))


def _trusting(authority: Authority) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(authority.pem))


def _fill(workload: Workload, side: Side) -> None:
    with closing(Connection(side)) as connection:
        connection.call(WHO)
        for request in (*workload.create(), *workload.add()):
            connection.call(request)


def _busy(
    sides: Mapping[str, Side],
    request: bytes,
    tls: ssl.SSLContext,
    seconds: float,
    rounds: int,
    numbers: Sequence[int],
) -> None:
    """Prints the cost of a call over this number of connections: medians and quartiles."""
    for connections in numbers:
        loads = {
            kind: Load(side, request, connections, tls=tls if kind == TLS else None, first=WHO)
            for kind, side in sides.items()
        }
        cpu: dict[str, list[float]] = {kind: [] for kind in sides}
        rates: dict[str, list[float]] = {kind: [] for kind in sides}
        for number in range(rounds + 1):
            for kind in list(sides) if number % 2 else reversed(list(sides)):
                used, rate = _round(sides[kind], loads[kind], seconds)
                if number:
                    cpu[kind].append(used)
                    rates[kind].append(rate)
        click.echo(f"get_table, {connections} connections: processor time of a call (us), calls a second; × plain")
        for kind in sides:
            costs, speed = _beside(cpu[kind], cpu[PLAIN]), _beside(rates[kind], rates[PLAIN])
            figures = f"{1e6 * median(cpu[kind]):8.0f} {median(rates[kind]):8.0f}"
            click.echo(f"    {kind:12} {figures}   × {costs}   × {speed}")


def _beside(these: Sequence[float], those: Sequence[float]) -> str:
    """Returns the median and the quartiles of the ratios of neighbouring rounds."""
    low, middle, high = quantiles([a / b for a, b in zip(these, those, strict=True)], n=4)
    return f"{middle:.3f} ({low:.2f} to {high:.2f})"


def _round(side: Side, load: Load, seconds: float) -> tuple[float, float]:
    """Returns the processor time of a call in seconds, and calls a second."""
    begun, before, done = time.perf_counter(), _cpu(side), load.calls
    load.round(seconds)
    calls = load.calls - done
    return (_cpu(side) - before) / calls, calls / (time.perf_counter() - begun)


def _cpu(side: Side) -> float:
    """Returns the seconds of processor time, to the nanosecond (Linux: the clock of a process by its id)."""
    return sum(_seconds(each.pid) for each in side.workers())


def _large(sides: Mapping[str, Side], request: bytes, tls: ssl.SSLContext) -> None:
    """Prints the time of the large reply."""
    took: dict[str, list[float]] = {PLAIN: [], TLS: []}
    used: dict[str, list[float]] = {PLAIN: [], TLS: []}
    for number in range(REPLIES + 1):
        for kind in took if number % 2 else reversed(list(took)):
            with closing(Connection(sides[kind], tls if kind == TLS else None)) as connection:
                connection.call(WHO)
                begun, before = time.perf_counter(), _cpu(sides[kind])
                size = connection.call(request)
                if number:
                    took[kind].append(time.perf_counter() - begun)
                    used[kind].append(_cpu(sides[kind]) - before)
    for what, times in (("took", took), ("processor time", used)):
        ratio = median(a / b for a, b in zip(times[TLS], times[PLAIN], strict=True))
        figures = ", ".join(f"{kind} {1000 * median(each):.0f} ms" for kind, each in times.items())
        click.echo(f"a reply of {size / 1e6:.1f} MB, {what}: {figures}; × {ratio:.2f}")


def _beside_handshakes(side: Side, request: bytes, authority: Authority, seconds: float) -> None:
    """Prints how much slower 16 busy connections are beside resumed handshakes, and beside a process that makes no
    handshakes and uses as much processor time as the clients that do.
    """
    make = [sys.executable, "-m", "tests.bench.security", "handshakes", side.host, str(side.port), str(authority.pem)]
    with _running(make) as asked:
        before = _cpu(side)
        time.sleep(seconds)
        used = _cpu(side) - before
        told = _told(asked)
    count = float(told.split()[0]) * seconds
    click.echo(f"{told}, alone: {1e6 * used / count:.0f} us of the server's processor time each")
    load = Load(side, request, AT_ONCE, tls=_trusting(authority), first=WHO)
    load.round(seconds / 2, counts=False)
    rates: dict[str, list[float]] = {"alone": [], "beside": [], "burning": []}
    costs: dict[str, list[float]] = {kind: [] for kind in rates}
    share = 1.0
    for number in range(3 * BESIDE):
        kind = list(rates)[number % 3]
        with ExitStack() as stack:
            if kind == "beside":
                asked = stack.enter_context(_running(make))
            if kind == "burning":
                stack.enter_context(_running([*make[:3], "burn", f"{share:.3f}"]))
            cost, rate = _round(side, load, seconds)
            rates[kind].append(rate)
            costs[kind].append(cost)
            if kind == "beside":
                share = min(1.0, _seconds(asked.pid) / seconds)
                told = _told(asked)
    alone = median(rates["alone"])
    click.echo(f"16 busy connections: {alone:.0f} calls a second, {1e6 * median(costs['alone']):.0f} us each")
    click.echo(f"    × {median(rates['beside']) / alone:.2f} beside {told}")
    click.echo(f"    × {median(rates['burning']) / alone:.2f} beside {share:.0%} of a core that somebody else takes")


def _seconds(pid: int) -> float:
    return time.clock_gettime((~pid) << 3 | 2)


def _told(asked: subprocess.Popen[str]) -> str:
    return asked.communicate("\n")[0].strip()


@contextmanager
def _running(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout
        process.stdout.readline()  # it is running
        try:
            yield process
        finally:
            process.kill()


def _kerberos(database: Postgres, folder: Path, request: bytes) -> None:
    """Prints the transfer rate of the large reply with SASL protection, and of the protection alone."""
    with ExitStack() as stack:
        keytab = _realm(stack)
        if keytab is None:
            return
        options = ("--authentication", "kerberos", "--kerberos-keytab", keytab)
        side = stack.enter_context(ours(database, folder / "kerberos", "ours", *options))
        best = max(_wrapped(side, request) for _ in range(REPLIES))
        alone = _wrapping(keytab)
        click.echo(
            f"auth-conf, best of {REPLIES}: the reply comes at {best:.0f} MB/s, the GSS library alone wraps "
            f"{alone:.0f} MB/s; × {best / alone:.2f}"
        )


def _wrapped(side: Side, request: bytes) -> float:
    """Reads the large reply with its protection. Returns MB a second."""
    bare = TBufferedTransport(TSocket("localhost", side.port), _PIECE)
    bare.open()
    sasl = SaslTransport(bare, Gssapi("hive@localhost"))
    try:
        sasl.open()
        sasl.write(request + encode("getName"))
        begun, size, piece = time.perf_counter(), 0, _PIECE
        sasl.flush()
        while piece > _SMALL or size < _PIECE:  # the reply to the second call ends the first reply
            piece = int.from_bytes(bare.readAll(4), "big")
            size += len(bare.readAll(piece))
        return size / 1e6 / (time.perf_counter() - begun)
    finally:
        bare.close()


def _wrapping(keytab: str) -> float:
    """Protects the same amount of data with the library alone, in pieces of the same size. Returns MB a second."""
    import gssapi

    name = gssapi.Name("hive@localhost", gssapi.NameType.hostbased_service)
    ours = gssapi.SecurityContext(
        creds=gssapi.Credentials(usage="accept", store={"keytab": keytab, "rcache": "none:"}), usage="accept"
    )
    theirs = gssapi.SecurityContext(name=name, usage="initiate")
    token = theirs.step()
    while token and not (ours.complete and theirs.complete):
        answer = ours.step(token)
        token = theirs.step(answer) if answer else None
    data, count = bytes(range(256)) * (_PIECE // 256), 80
    best = 0.0
    for _ in range(REPLIES):
        begun = time.perf_counter()
        for _ in range(count):
            ours.wrap(data, encrypt=True)
        best = max(best, count * len(data) / 1e6 / (time.perf_counter() - begun))
    return best


if __name__ == "__main__":
    main()
