"""A user of Spark Connect. Runs statements and attempts, and prints their results or errors as JSON.

python spark_users_client.py sc://host:port/;token=… '["SELECT 1", "!udf"]'
"""

import json
import os
import sys
import tempfile
import zipfile
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.connect.proto import Plan
from pyspark.sql.functions import udf

EMPTY_HASH_MAP = bytes.fromhex(
    "aced0005737200116a6176612e7574696c2e486173684d61700507dac1c31660d103000246000a6c6f6164466163746f7249000974687265"
    "73686f6c6478703f40000000000000770800000010000000007800"
)[:-1]


def read_in_function(path):
    """A Python function that reads a file of the warehouse."""

    def read(_):
        try:
            return str(len(list(Path(path).iterdir())))
        except OSError as error:
            return type(error).__name__

    return udf(read)


def read_memory(_):
    """Looks for an environment of another driver."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if "SPARK_USER=alice" in (process / "environ").read_text():
                return "found alice"
        except OSError:
            continue
    return "no process of others"


def read_environment(_):
    """Returns the own environment, and the command lines of all processes that can be read."""
    lines = []
    for process in range(1, 100_000):
        try:
            lines.append(Path(f"/proc/{process}/cmdline").read_text())
        except OSError:
            continue
    return str((dict(os.environ), lines))


def attempt(spark, word, argument):  # noqa: C901 - one branch for each attempt
    if word == "!udf":
        return spark.range(1).select(udf(lambda number: number + 2, "int")("id")).collect()
    if word == "!read":
        return spark.read.parquet(argument).collect()
    if word == "!write":
        return spark.range(1).write.mode("overwrite").parquet(argument)
    if word == "!write-other":
        return spark.range(1).write.format("noop").mode("append").save()
    if word == "!save-as":
        return spark.range(1).write.mode("overwrite").option("path", argument).saveAsTable("bob.saved")
    if word == "!udf-read":
        return spark.range(1).select(read_in_function(argument)("id")).collect()
    if word == "!udf-memory":
        return spark.range(1).select(udf(read_memory)("id")).collect()
    if word == "!udf-environment":
        return spark.range(1).select(udf(read_environment)("id")).collect()
    if word == "!conf":
        return [[spark.conf.get(argument)]]
    if word == "!conf-set":
        return spark.conf.set(argument, "true")
    if word == "!expression":
        return spark.range(1).selectExpr(argument).collect()
    if word == "!setting-variable":
        spark.conf.set("spark.sql.sources.default", argument)
        try:
            return spark.sql("CREATE TABLE bob.of_setting (id INT)").collect()
        finally:
            spark.conf.unset("spark.sql.sources.default")
    if word == "!setting":
        spark.conf.set(*argument.split(" "))
        try:
            return spark.sql("SELECT 1").collect()
        finally:
            spark.conf.unset(argument.split(" ")[0])
    if word == "!java-object":  # as a function in Scala, which Java would deserialize
        plan = Plan()
        plan.root.project.input.range.end = plan.root.project.input.range.step = 1
        function = plan.root.project.expressions.add().common_inline_user_defined_function
        function.scalar_scala_udf.payload = EMPTY_HASH_MAP
        function.scalar_scala_udf.outputType.integer.SetInParent()
        return spark.client.explain_string(plan)
    if word == "!jar":
        path = str(Path(tempfile.mkdtemp()) / "a.jar")
        with zipfile.ZipFile(path, "w") as jar:
            jar.writestr("A.class", b"")
        return spark.addArtifact(path)
    raise ValueError(word)


def main(remote, texts):
    answers = []
    try:
        spark = SparkSession.builder.remote(remote).create()
    except Exception as error:  # noqa: BLE001 - every error is an answer
        return [f"UNAUTHENTICATED {error}" if "UNAUTHENTICATED" in str(error) else str(error)] * len(texts)
    for text in texts:
        word, _, argument = text.partition(" ")
        try:
            if word == "!keep":
                answers.append([])
                continue
            rows = attempt(spark, word, argument) if word.startswith("!") else spark.sql(text).collect()
            answers.append([list(row) for row in rows or []])
        except Exception as error:  # noqa: BLE001 - as above
            prefix = "UNAUTHENTICATED " if "UNAUTHENTICATED" in str(error) else ""
            answers.append(f"{prefix}{error}")
    return answers


if __name__ == "__main__":
    sys.stdout.write("\n" + json.dumps(main(sys.argv[1], json.loads(sys.argv[2]))) + "\n")
    sys.stdout.flush()
    os._exit(0)  # a session that is stopped would be lost
