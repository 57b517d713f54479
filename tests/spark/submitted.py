"""A program for spark-submit. Prints its results as JSON, or writes them to a file. Its executors are other
processes.

    spark-submit --master 'local-cluster[1,2,1024]' submitted.py thrift://host:port TABLE [FILE]
"""

import json
import sys
from pathlib import Path

import spark_client


def main(uri: str, table: str) -> dict[str, object]:
    spark = spark_client.session(uri)
    spark.sql(
        f"CREATE TABLE {table} (id INT, x STRING) PARTITIONED BY (ds STRING) "
        "SKEWED BY (x) ON ('a') STORED AS DIRECTORIES STORED AS PARQUET"
    )
    spark.sql(f"INSERT INTO {table} SELECT int(id), if(id % 2 = 0, 'a', 'b'), string(id % 3) FROM range(0, 60, 1, 4)")
    frame = spark.sql(f"SELECT id FROM {table} WHERE x = 'a' AND ds = '1'")
    spark.sql(f"CREATE TABLE {table}_o (id INT, x STRING) CLUSTERED BY (id) INTO 2 BUCKETS STORED AS ORC")
    spark.sql(f"INSERT INTO {table}_o SELECT id, x FROM {table}")
    seen = {
        "master": spark.sparkContext.master,
        "rows": frame.count(),
        "all": spark.table(table).count(),
        "files": spark_client.scan_report(frame).scans[0].kept.partitions,
        "bucket": spark.sql(f"SELECT * FROM {table}_o WHERE id = 7").count(),
        "joined": spark.sql(f"SELECT /*+ SKEW_JOIN(a) */ a.id FROM {table} a JOIN {table}_o b ON a.x = b.x").count(),
        "by bucket": spark_client.by_bucket(spark.table(f"{table}_o")).groupBy("id").count().count(),
        "merged": spark.sql(f"ALTER TABLE {table} PARTITION (ds = '1') CONCATENATE").count() > 0,
        "problems": spark_client.check_buckets(spark, f"{table}_o", rows=True),
    }
    spark.stop()
    return seen


if __name__ == "__main__":
    seen = json.dumps(main(*sys.argv[1:3]))
    if sys.argv[3:]:
        Path(sys.argv[3]).write_text(seen)
    else:
        sys.stdout.write(f"\n{seen}\n")
