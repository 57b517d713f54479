"""A client of Spark Connect with pyspark-client alone. Prints its results as JSON.

python connect_client.py sc://host:port TABLE
"""

import json
import sys
from importlib.util import find_spec

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

ACTIONS = {
    "collect": lambda df: df.collect(),
    "show": lambda df: df.show(),
    "count": lambda df: df.count(),
    "toPandas": lambda df: df.toPandas(),
    "count, toPandas": lambda df: (df.count(), df.toPandas()),
    "nothing": lambda df: None,
}


def main(remote: str, table: str) -> dict[str, object]:
    spark = SparkSession.builder.remote(remote).create()
    seen: dict[str, object] = {"installed": [name for name in ("py4j", "spark_client") if find_spec(name)]}

    def rows(text: str, **given: object) -> list[list[object]]:
        return [list(row) for row in spark.sql(text, **given).collect()]

    spark.sql(
        f"CREATE TABLE {table} (id INT, x STRING) PARTITIONED BY (ds STRING) "
        "SKEWED BY (x) ON ('a', 'b') STORED AS DIRECTORIES STORED AS PARQUET"
    )
    for name, action in ACTIONS.items():
        action(spark.sql(f"INSERT INTO {table} VALUES (1, 'a', '{name}')"))
    spark.sql("SELECT 2 AS id, 'b' AS x, 'insertInto' AS ds").write.insertInto(table)
    made = spark.sql(f"CREATE TABLE {table}_made STORED AS PARQUET AS SELECT * FROM {table}")
    made.count()
    two = f"FROM {table}_made INSERT INTO {table} SELECT id, x, '8' INSERT INTO {table} SELECT id, x, '9'"
    spark.sql(two).collect()
    seen["written"] = dict(map(tuple, rows(f"SELECT ds, count(*) FROM {table} GROUP BY ds")))
    concatenated = spark.sql(f"ALTER TABLE {table} PARTITION (ds = :ds) CONCATENATE", args={"ds": "8"})
    concatenated.collect()
    seen["columns"] = concatenated.columns
    spark.sql(f"TRUNCATE TABLE {table}_made").collect()
    seen["truncated"] = rows(f"SELECT count(*) FROM {table}_made")
    told = rows(f"EXPLAIN SELECT * FROM {table} WHERE x = 'b' AND ds = 'insertInto'")[0][0]
    seen["explained"] = [line.partition(", ")[0] for line in told.splitlines() if line.startswith("default.")]
    seen["scans"] = rows(f"SHOW SCANS OF SELECT * FROM {table} WHERE x = 'b' AND ds = 'insertInto'")[0][1:3]
    seen["skew"] = rows(f"SHOW SKEW IN {table} (x)")[0][:2]
    rows(f"ALTER TABLE {table} SKEWED BY (x) ON ('z') STORED AS DIRECTORIES")
    if spark.version.startswith("3."):
        rows(f"ALTER TABLE {table} NOT SKEWED")
    else:
        seen["script"] = rows(f"BEGIN ALTER TABLE {table} NOT SKEWED; SELECT 7; END")
    seen["created"] = "SKEWED" in rows(f"SHOW CREATE TABLE {table}")[0][0]
    try:
        spark.sql(f"ALTER TABLE {table} SKEWED BY (nowhere) ON (1)").collect()
    except PySparkException as error:
        seen["error"] = str(error)
    other = SparkSession.builder.remote(remote).create()
    other.sql("SET hive.merge.size.per.task = 77").collect()
    spark.range(3).createOrReplaceTempView(f"{table}_view")
    seen["apart"] = [
        other.catalog.tableExists(f"{table}_view"),
        spark.conf.get("hive.merge.size.per.task", "none"),
        other.table(table).count() == spark.table(table).count(),
    ]
    for session in (other, spark):
        session.stop()
    return seen


if __name__ == "__main__":
    seen_ = main(*sys.argv[1:])
    sys.stdout.write("\n" + json.dumps(seen_, default=lambda number: number.item()) + "\n")  # NumPy's, in Spark 3.5
