"""A broker of Kafka from Maven Central, with KRaft, in one process, and a reader of its topics."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.fixtures.installed_postgres import free_port
from tests.interop.maven import class_path

KAFKA = "org.apache.kafka:kafka_2.13:4.3.1"
PATIENCE = 120  # seconds
_SETTINGS = """
process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
controller.quorum.bootstrap.servers=127.0.0.1:{controller}
log.dirs={folder}/logs
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
auto.create.topics.enable=false
group.initial.rebalance.delay.ms=0
"""


class Broker:
    """A broker, which can be killed and started again with its data."""

    def __init__(self, folder: Path) -> None:
        self._folder, self.port = folder, free_port()
        self._settings = folder / "server.properties"
        self._settings.write_text(_SETTINGS.format(port=self.port, controller=free_port(), folder=folder))
        self._process: subprocess.Popen[bytes] | None = None
        identity = self._java("kafka.tools.StorageTool", "random-uuid").strip()
        self._java("kafka.tools.StorageTool", "format", "--standalone", "-t", identity, "-c", str(self._settings))

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        """Starts the broker, and waits until it answers."""
        with (self._folder / "broker.log").open("ab") as log:
            self._process = subprocess.Popen(
                ["java", "-Xmx512m", "-cp", class_path(KAFKA), "kafka.Kafka", str(self._settings)],
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        until = time.monotonic() + PATIENCE
        while True:
            try:
                self.admin().list_topics(timeout=5)
                return
            except KafkaException:
                assert self._process.poll() is None, (self._folder / "broker.log").read_text()[-2000:]
                assert time.monotonic() < until

    def kill(self) -> None:
        """Ends the broker at once."""
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None

    def admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.address, "log_level": 0})

    def create(self, topic: str, partitions: int = 3, **settings: str) -> None:
        """Creates a topic."""
        options = {name.replace("_", "."): value for name, value in settings.items()}
        admin = self.admin()  # its requests end with it
        admin.create_topics([NewTopic(topic, partitions, 1, config=options)])[topic].result(PATIENCE)

    def configure(self, topic: str, **settings: str) -> None:
        """Changes settings of a topic."""
        from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource

        entries = [
            ConfigEntry(name.replace("_", "."), value, incremental_operation=AlterConfigOpType.SET)
            for name, value in settings.items()
        ]
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=entries)
        admin = self.admin()
        for future in admin.incremental_alter_configs([resource]).values():
            future.result(PATIENCE)

    def _java(self, program: str, *arguments: str) -> str:
        command = ["java", "-cp", class_path(KAFKA), program, *arguments]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout


@contextmanager
def running_broker(folder: Path) -> Iterator[Broker]:
    """Runs a broker. Raises `maven.UnavailableError` if its archives cannot be had."""
    broker = Broker(folder)
    try:
        broker.start()
        yield broker
    finally:
        broker.kill()


class Reader:
    """Reads a topic from its beginning."""

    def __init__(self, broker: Broker, topic: str) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": broker.address,
                "group.id": f"reader {os.getpid()}",
                "enable.auto.commit": False,
                "log_level": 0,
            }
        )
        partitions = self._consumer.list_topics(topic, timeout=PATIENCE).topics[topic].partitions
        self._consumer.assign([TopicPartition(topic, number, 0) for number in partitions])

    def messages(self, patience: float = PATIENCE) -> Iterator[Any]:
        """Yields the messages, in order for each partition. Fails if none comes in time."""
        until = time.monotonic() + patience
        while True:
            for message in self._consumer.consume(1000, timeout=0.5):
                if message.error() is None:
                    until = time.monotonic() + patience
                    yield message
            assert time.monotonic() < until, "no message comes"

    def close(self) -> None:
        self._consumer.close()


def document(message: Any) -> dict[str, Any]:
    """Returns the CloudEvent of a message."""
    decoded: dict[str, Any] = json.loads(message.value())
    return decoded
