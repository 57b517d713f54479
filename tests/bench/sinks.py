"""Sends many events to a webhook and to Kafka while servers, senders, receivers and sessions are killed, and measures
what a sink costs writers.

`python -m tests.bench.sinks soak --events 100000 --kills 100` prints how many events are missing, out of order, or came
again with another id: all must be 0. Messages that came again with the same id are counted. Without `--kafka`, no
broker is downloaded. `python -m tests.bench.sinks writers` compares calls with and without a sink.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import click
import psutil
from sqlalchemy import Engine, NullPool, create_engine, text
from standardwebhooks.webhooks import Webhook

from metastore.domain.cloud_events import message_of
from metastore.domain.sinks import parse_sinks
from metastore.sinks.opening import open_destination
from metastore.storage.postgres.embedded import EmbeddedPostgres
from migrations import runner
from tests.fixtures.installed_postgres import free_port
from tests.fixtures.receiver import SECRET
from tests.fixtures.server import connected, running
from tests.wire.builders import new_table, partition

TABLES = 97
TOPIC = "events"
OPTIONS = "attempts=1000&timeout=2"
_FILL = r"""
    INSERT INTO notification_log
        (event_id, event_time, event_type, catalog, database, table_name, message, repeated, repetitions, renamed)
    SELECT n, extract(epoch FROM now())::int, 'ADD_PARTITION', 'hive', 'soak', 't' || n % :tables,
           '{"timestamp"\:0,"user"\:"ann","partitions"\:[{"ds"\:"' || n || '"}]}', '', 0, false
    FROM generate_series(1, :events) AS n
"""
_SINK = "INSERT INTO event_sinks (name, position, epoch, attempts, sent, failed) VALUES (:name, 0, '', 0, 0, 0)"
_KILL_SESSIONS = """
    SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'metastore sinks'
"""
_BEHIND = "SELECT max(n.last_event_id - position) FROM event_sinks, notification_sequence n"
_SWITCH = "UPDATE event_sinks SET disabled_at = CASE WHEN :is_on THEN NULL ELSE now() END"
_SESSIONS = """
    SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'metastore 0%' AND datname = current_database()
"""


class Arrival(NamedTuple):
    """A message that a sink has taken."""

    number: int
    identity: str
    key: str
    content: int


@click.group(help=__doc__)
def main() -> None:
    """Groups the commands."""


class Program:
    """A program that is started again after each kill."""

    def __init__(self, command: list[str], log: Path) -> None:
        self._command, self._log = command, log
        self.start()

    def start(self) -> None:
        with self._log.open("a") as output:
            self.process = subprocess.Popen(self._command, stdout=output, stderr=output, start_new_session=True)

    def restart(self) -> None:
        self.stop(signal.SIGKILL)
        self.start()

    def stop(self, number: int = signal.SIGTERM) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, number) if number == signal.SIGKILL else self.process.terminate()
        self.process.wait(60)

    def kill_sender(self) -> None:
        """Kills the process that sends, which starts after the worker."""
        with suppress(psutil.Error, ValueError):
            max(psutil.Process(self.process.pid).children(), key=lambda each: each.pid).kill()


class Soak:
    """A database with a log of events, two servers, a receiver, and perhaps a broker."""

    def __init__(self, folder: Path, stack: ExitStack, events: int, *, with_kafka: bool) -> None:
        self.events, self._folder = events, folder
        postgres = stack.enter_context(EmbeddedPostgres(folder / "postgres", connections=100))
        runner.upgrade(postgres.url)
        self.database: Engine = create_engine(postgres.url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
        self.arrivals, secret, port = folder / "arrivals", folder / "secret", free_port()
        secret.write_text(SECRET)
        command = [sys.executable, "-m", "tests.bench.sinks", "receive", str(port), str(self.arrivals)]
        self.receiver = Program(command, folder / "receiver.log")
        stack.callback(self.receiver.stop, signal.SIGKILL)
        sinks = [f"hook=http://127.0.0.1:{port}/#secret_file={secret}&{OPTIONS}"]
        self.broker: Any = stack.enter_context(_broker(folder)) if with_kafka else None
        if self.broker:
            sinks.append(f"bus=kafka://{self.broker.address}/{TOPIC}#{OPTIONS}")
        self._names = [sink.partition("=")[0] for sink in sinks]
        self._fill()
        serve = [
            sys.executable,
            "-m",
            "metastore.cli",
            "serve",
            "--port",
            "0",
            "--workers",
            "1",
            "--sinks",
            " ".join(sinks),
        ]
        serve += ["--database-url", postgres.url, "--warehouse", str(folder / "warehouse"), "--event-retention", "90d"]
        self.servers = [Program(serve, folder / f"server{number}.log") for number in range(2)]
        for server in self.servers:
            stack.callback(server.stop)

    def _fill(self) -> None:
        with self.database.connect() as connection:
            connection.execute(text(_FILL), {"events": self.events, "tables": TABLES})
            connection.execute(
                text("UPDATE notification_sequence SET last_event_id = :events"), {"events": self.events}
            )
            for name in self._names:
                connection.execute(text(_SINK), {"name": name})

    def positions(self) -> dict[str, int]:
        with self.database.connect() as connection:
            rows = connection.execute(text("SELECT name, position FROM event_sinks"))
            return {row.name: row.position for row in rows}

    def kill_sessions(self) -> None:
        with self.database.connect() as connection:
            connection.execute(text(_KILL_SESSIONS))

    def kill_broker(self) -> None:
        self.broker.kill()
        self.broker.start()

    def kills(self) -> dict[str, tuple[int, Callable[[], None]]]:
        """Returns what can be killed, with its weight."""
        first, second = self.servers
        return {  # type: ignore[return-value] # results are not used
            "sender": (12, lambda: [each.kill_sender() for each in (first, second)]),
            "server": (1, lambda: random.choice(self.servers).restart()),
            "receiver": (4, self.receiver.restart),
            "sessions": (6, self.kill_sessions),
            "broker": (1 if self.broker else 0, self.kill_broker),
        }

    def taken(self) -> dict[str, list[Arrival]]:
        """Returns what each sink has taken, in the order of the arrival (in Kafka: in each partition)."""
        lines = self.arrivals.read_text().splitlines()
        webhook = [Arrival(int(number), *rest, int(crc)) for number, *rest, crc in (line.split("\t") for line in lines)]
        if not self.broker:
            return {"webhook": webhook}
        from tests.interop.kafka import Reader, document

        last, kafka, reader = set[int](), list[Arrival](), Reader(self.broker, TOPIC)
        for message in reader.messages():
            number = int(document(message)["data"]["id"])
            identity = str(document(message)["id"])
            kafka.append(Arrival(number, identity, message.key().decode(), zlib.crc32(message.value())))
            last |= {number} if number > self.events - TABLES else set()
            if len(last) == min(TABLES, self.events):
                break
        reader.close()
        return {"webhook": webhook, "kafka": kafka}


@contextmanager
def _folder() -> Iterator[Path]:
    """Yields a temporary folder in memory."""
    with tempfile.TemporaryDirectory(dir="/dev/shm", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o755)  # PostgreSQL may run as another user
        yield Path(name)


@contextmanager
def _broker(folder: Path) -> Iterator[Any]:
    from tests.interop.kafka import running_broker

    (folder / "kafka").mkdir()
    with running_broker(folder / "kafka") as broker:
        broker.create(TOPIC)
        yield broker


@main.command()
@click.option("--events", default=10_000, show_default=True, help="Events in the log.")
@click.option("--kills", default=20, show_default=True, help="Kills, as long as events are left.")
@click.option("--pause", default=2.0, show_default=True, help="Mean seconds between two kills.")
@click.option("--kafka", "with_kafka", is_flag=True, help="Also send to a broker from Maven Central.")
@click.option("--minutes", default=60.0, show_default=True, help="Longest time for sending.")
def soak(events: int, kills: int, pause: float, minutes: float, *, with_kafka: bool) -> None:
    """Sends events under kills, and compares what has arrived with the log."""
    with _folder() as folder, ExitStack() as stack:
        world, done, started = Soak(folder, stack, events, with_kafka=with_kafka), Counter[str](), time.monotonic()
        kinds = world.kills()
        until = started + 60 * minutes
        while min(world.positions().values()) < events and time.monotonic() < until:
            time.sleep(random.uniform(0, 2 * pause))
            if done.total() < kills and min(world.positions().values()) < events:
                kind = random.choices([*kinds], [weight for weight, _ in kinds.values()])[0]
                kinds[kind][1]()
                done[kind] += 1
        seconds, positions = time.monotonic() - started, world.positions()
        for server in world.servers:
            server.stop()
        click.echo(f"{done.total()} kills in {seconds:.0f} s: {dict(done)}; positions {positions}")
        wrong = sum([_report(sink, arrivals, positions) for sink, arrivals in world.taken().items()])
        click.echo(f"{wrong} wrong")
        sys.exit(bool(wrong))


def _report(sink: str, arrivals: list[Arrival], positions: dict[str, int]) -> int:
    """Prints the figures of a sink. Returns the number of mistakes."""
    events = positions["hook" if sink == "webhook" else "bus"]
    known: dict[int, Arrival] = {}
    newest: Counter[str] = Counter()
    again = other = disordered = 0
    for arrival in arrivals:
        if (first := known.get(arrival.number)) is not None:
            again += 1
            other += first != arrival
            continue
        known[arrival.number] = arrival
        disordered += arrival.number < newest[arrival.key]
        newest[arrival.key] = max(newest[arrival.key], arrival.number)
    missing = events - sum(number <= events for number in known)
    click.echo(
        f"{sink}: {events:,} events, {missing} missing, {disordered} out of order for their table, "
        f"{again:,} came again with the same id, {other} with another id or content"
    )
    return missing + disordered + other


class _Receiver(asyncio.Protocol):
    """Appends a line for each message, before it answers."""

    def __init__(self, file: int) -> None:
        self._file, self._received, self._webhook = file, b"", Webhook(SECRET)

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        while b"\r\n\r\n" in self._received:
            head, _, rest = self._received.partition(b"\r\n\r\n")
            headers = dict(line.split(": ", 1) for line in head.decode().lower().splitlines()[1:])
            cased = dict(line.split(": ", 1) for line in head.decode().splitlines()[1:])
            size = int(headers["content-length"])
            if len(rest) < size:
                return
            body, self._received = rest[:size], rest[size:]
            signed = {name.lower(): value for name, value in cased.items()}
            document = self._webhook.verify(body, signed)
            row = (document["data"]["id"], document["id"], document.get("subject"), zlib.crc32(body))
            os.write(self._file, ("\t".join(map(str, row)) + "\n").encode())
            chance = random.random()  # some messages are taken, and the answer is an error or is lost
            if chance < 0.0002:
                self._transport.close()
            else:
                self._transport.write(b"HTTP/1.1 500 no\r\nContent-Length: 0\r\n\r\n" if chance < 0.0004 else _TAKEN)


_TAKEN = b"HTTP/1.1 204 No Content\r\n\r\n"


@main.command(hidden=True)
@click.argument("port", type=int)
@click.argument("file", type=click.Path(path_type=Path))
def receive(port: int, file: Path) -> None:
    """Runs the receiver."""

    async def run() -> None:
        target = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        server = await asyncio.get_running_loop().create_server(lambda: _Receiver(target), "127.0.0.1", port)
        await server.serve_forever()

    asyncio.run(run())


@main.command(hidden=True)
@click.argument("sink")
def imitate(sink: str) -> None:
    """Sends a message for each line of its input, without a log."""
    destination = open_destination(parse_sinks(sink)[0])
    for number, _ in enumerate(sys.stdin):
        event = {"id": number, "time": "2026-01-01T00:00:00Z", "type": "X", "database": "d", "table": "t"}
        destination.send([message_of(event, "c", "")], 0)


@main.command()
@click.option("--calls", default=50, show_default=True, help="Calls in a block.")
@click.option("--rounds", default=50, show_default=True, help="Blocks with a sink, and as many without.")
def writers(calls: int, rounds: int) -> None:
    """Compares blocks of `add_partition` with a sink and without one, by turns.

    The processor time is that of the server's worker and of its sessions of PostgreSQL, for each call. In the blocks
    without a sink, another program sends as many messages to the same receiver, so that both kinds of block find
    processors and caches equally busy: what differs is that the log is read.
    """
    with _folder() as folder, ExitStack() as stack:
        port = free_port()
        postgres = stack.enter_context(EmbeddedPostgres(folder / "postgres", connections=100))
        runner.upgrade(postgres.url)
        command = [sys.executable, "-m", "tests.bench.sinks", "receive", str(port), str(folder / "arrivals")]
        stack.callback(Program(command, folder / "receiver.log").stop, signal.SIGKILL)
        (folder / "secret").write_text(SECRET)
        sink = f"hook=http://127.0.0.1:{port}/#secret_file={folder}/secret"
        (folder / "server").mkdir()
        server = stack.enter_context(running(postgres.url, folder / "server", "--sinks", sink))
        database = create_engine(postgres.url, poolclass=NullPool, isolation_level="AUTOCOMMIT").connect()
        stack.callback(database.close)
        client = stack.enter_context(connected(server))
        base, table = new_table(client, [("ds", "string")])
        command = [sys.executable, "-m", "tests.bench.sinks", "imitate", sink]
        other = stack.enter_context(subprocess.Popen(command, stdin=subprocess.PIPE))
        assert other.stdin
        stack.callback(other.stdin.close)
        worker = min(psutil.Process(server.process.pid).children(), key=lambda each: each.pid).pid
        spent: dict[bool, list[float]] = {True: [], False: []}
        for number in range(2 * rounds + 4):
            is_on = number % 4 in (0, 3)  # on, off, off, on
            database.execute(text(_SWITCH), {"is_on": is_on})
            _wait_for_sender(database, is_on=is_on)
            before = _processor(worker, database)
            for call in range(calls):
                client.add_partition(partition(base, table, [f"{number}-{call}"]))
                if not is_on:
                    other.stdin.write(b"\n")
                    other.stdin.flush()
            if number > 3:  # the first blocks warm up
                after = _processor(worker, database)
                spent[is_on].append(sum(after[each] - before[each] for each in after.keys() & before.keys()) / calls)
        sent = len((folder / "arrivals").read_text().splitlines())
    ratios = [one / other - 1 for one, other in zip(spent[True], spent[False], strict=True)]
    error = statistics.stdev(ratios) / len(ratios) ** 0.5 if len(ratios) > 1 else 0.0
    on, off = (1e3 * statistics.median(spent[is_on]) for is_on in (True, False))
    click.echo(f"processor time of a call: {off:.3f} ms without a sink, {on:.3f} ms with one")
    click.echo(f"pairs: median {statistics.median(ratios):+.1%}, mean {statistics.mean(ratios):+.1%} ± {error:.1%}")
    click.echo(f"{sent} events sent")


def _wait_for_sender(database: Any, *, is_on: bool) -> None:
    """Waits until the sender has all events, or knows that the sink is disabled."""
    while is_on and database.execute(text(_BEHIND)).scalar():
        time.sleep(0.1)
    time.sleep(1.2)


def _processor(worker: int, database: Any) -> dict[str, float]:
    """Returns the seconds of processor time of each thread of the worker and of its sessions of PostgreSQL."""
    processes = [worker, *database.execute(text(_SESSIONS)).scalars()]
    threads = [thread for process in processes for thread in Path(f"/proc/{process}/task").iterdir()]
    return {str(thread): int((thread / "schedstat").read_text().split()[0]) / 1e9 for thread in threads}


if __name__ == "__main__":
    main()
