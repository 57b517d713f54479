"""A user of Spark Connect. Runs statements and attempts, and prints their results or errors as JSON.

python spark_users_client.py sc://host:port/;token=… '["SELECT 1", "!read /path"]'
"""

import json
import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.functions import udf


def look(path):
    """A Python function that returns its user, and what it finds in a file and in the environment of any process."""

    def found(_):
        lines = [str(os.getuid())]
        for file in (Path(path), *Path("/proc").glob("[0-9]*/environ")):
            try:
                lines.append(file.read_text(errors="replace"))
            except OSError as error:
                if file == Path(path):
                    lines.append(type(error).__name__)
        return "\n".join(lines)

    return udf(found)


def attempt(spark, word, argument):
    if word == "!look":
        return spark.range(1).select(look(argument)("id")).collect()
    if word == "!read":
        return spark.read.text(argument).collect()
    if word == "!write":
        return spark.range(1).write.mode("overwrite").parquet(argument)
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
