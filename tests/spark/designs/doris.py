"""Doris: DDL and DML on Hive tables. `[IF NOT EXISTS]` is typed without its brackets."""

from __future__ import annotations

from typing import Final

from tests.spark.designs.lines import Line, setup

_TYPES: Final = """(
    `col1` BOOLEAN COMMENT 'col1',
    `col2` INT COMMENT 'col2',
    `col3` BIGINT COMMENT 'col3',
    `col4` CHAR(10) COMMENT 'col4',
    `col5` FLOAT COMMENT 'col5',
    `col6` DOUBLE COMMENT 'col6',
    `col7` DECIMAL(9,4) COMMENT 'col7',
    `col8` VARCHAR(11) COMMENT 'col8',
    `col9` STRING COMMENT 'col9'
    ) ENGINE=hive
    PROPERTIES (
    'file_format'='parquet'
    );"""
_PARTITIONED: Final = """(
    `col1` BOOLEAN COMMENT 'col1',
    `col2` INT COMMENT 'col2',
    `col3` BIGINT COMMENT 'col3',
    `col4` DECIMAL(2,1) COMMENT 'col4',
    `pt1` VARCHAR COMMENT 'pt1',
    `pt2` VARCHAR COMMENT 'pt2'
    ) ENGINE=hive
    PARTITION BY LIST (pt1, pt2) ()
    PROPERTIES (
    'file_format'='orc',
    'compression'='zlib'
    );"""
_CATALOG: Final = [
    Line("set global enable_nereids_planner = true;", [("enable_nereids_planner", "true")]),
    Line("set global enable_fallback_to_original_planner = false;"),
    Line(
        """CREATE CATALOG IF NOT EXISTS hive PROPERTIES (
    "type"="hms",
    "hive.metastore.uris" = "thrift://172.21.16.47:7004",
    "hadoop.username" = "hadoop",
    "fs.defaultFS" = "hdfs://172.21.16.47:4007"
    );""",
        error="this session's metastore is .*, not thrift://172.21.16.47:7004",
        why="the address is the document's own",
    ),
    Line(
        """CREATE CATALOG IF NOT EXISTS hive PROPERTIES (
    "type"="hms",
    "hive.metastore.uris" = "<uris>",
    "hadoop.username" = "hadoop"
    );""",
        design="the same with this metastore's address",
    ),
    Line("SWITCH hive;"),
]
_DATABASES: Final = [
    Line("CREATE DATABASE IF NOT EXISTS <name>_hive_db;", design="CREATE DATABASE [IF NOT EXISTS] hive_db;"),
    Line("CREATE DATABASE IF NOT EXISTS hive.<name>_hive_db;", design="CREATE DATABASE [IF NOT EXISTS] hive.hive_db;"),
    Line(
        """CREATE DATABASE IF NOT EXISTS hive.<name>_placed
    PROPERTIES ('location'='<location>/placed/');""",
        design="""CREATE DATABASE [IF NOT EXISTS] hive.hive_db
    PROPERTIES ('location'='hdfs://172.21.16.47:4007/path/to/db/');""",
    ),
    Line("SHOW CREATE DATABASE <name>_hive_db;", design="SHOW CREATE DATABASE hive_db;"),
    Line("DROP DATABASE IF EXISTS hive.<name>_placed;", design="DROP DATABASE [IF EXISTS] hive.hive_db;"),
]
_TABLES: Final = [
    setup("USE <name>_hive_db"),
    Line(f"-- Create unpartitioned hive table\n    CREATE TABLE unpartitioned_table {_TYPES}"),
    Line(
        "-- Create partitioned hive table\n    -- The partition columns must be in table's column definition list\n"
        f"    CREATE TABLE partition_table {_PARTITIONED}"
    ),
    Line("SHOW CREATE TABLE partition_table", design="using the SHOW CREATE TABLE command"),
    Line(
        """CREATE TABLE non_acid_table(
    `col1` BOOLEAN COMMENT 'col1',
    `col2` INT COMMENT 'col2',
    `col3` BIGINT COMMENT 'col3'
    ) ENGINE=hive
    PROPERTIES (
    'transactional'='false',
    );"""
    ),
    Line("DROP TABLE non_acid_table", design="using the DROP TABLE statement"),
]
_INSERTS: Final = [
    setup("CREATE DATABASE <name>_db1"),
    setup("CREATE TABLE <name>_db1.tbl1 (col1 INT, col2 INT) ENGINE=hive"),
    setup("INSERT INTO <name>_db1.tbl1 VALUES (7, 8)"),
    setup("CREATE TABLE hive_tbl (col1 INT, col2 INT, c STRING, d STRING) ENGINE=hive"),
    Line("INSERT INTO hive_tbl values (val1, val2, val3, val4);", error="UNRESOLVED_COLUMN", why="placeholders"),
    Line(
        "INSERT INTO hive_tbl values (1, 2, 'a', 'b');", design="INSERT INTO hive_tbl values (val1, val2, val3, val4);"
    ),
    setup("DROP TABLE hive_tbl"),
    setup("CREATE TABLE hive_tbl (col1 INT, col2 INT) ENGINE=hive"),
    Line(
        "INSERT INTO hive.<name>_hive_db.hive_tbl SELECT col1, col2 FROM <name>_db1.tbl1;",
        design="INSERT INTO hive.hive_db.hive_tbl SELECT col1, col2 FROM internal.db1.tbl1;",
    ),
    Line(
        "INSERT INTO hive_tbl(col1, col2) values (1, 2);",
        design="INSERT INTO hive_tbl(col1, col2) values (val1, val2);",
    ),
    Line("SELECT * FROM hive_tbl", [(7, 8), (1, 2)]),
    setup("DROP TABLE hive_tbl"),
    setup(
        "CREATE TABLE hive_tbl (col1 INT, col2 INT, partition_col1 STRING, partition_col2 STRING) ENGINE=hive "
        "PARTITION BY LIST (partition_col1, partition_col2) ()"
    ),
    Line('INSERT INTO hive_tbl(col1, col2, partition_col1, partition_col2) values (1, 2, "beijing", "2023-12-12");'),
    Line("SELECT * FROM hive_tbl", [(1, 2, "beijing", "2023-12-12")]),
    Line(
        "INSERT OVERWRITE TABLE VALUES(val1, val2, val3, val4)",
        error="",
        why="the document has lost the name of the table",
    ),
    Line(
        "INSERT OVERWRITE TABLE hive_tbl VALUES (3, 4, 'a', 'b')",
        design="INSERT OVERWRITE TABLE VALUES(val1, val2, val3, val4)",
    ),
    setup("DROP TABLE hive_tbl"),
    setup("CREATE TABLE hive_tbl (col1 INT, col2 INT) ENGINE=hive"),
    Line(
        "INSERT OVERWRITE TABLE hive.<name>_hive_db.hive_tbl(col1, col2) SELECT col1, col2 FROM <name>_db1.tbl1;",
        design="INSERT OVERWRITE TABLE hive.hive_db.hive_tbl(col1, col2) SELECT col1, col2 FROM internal.db1.tbl1;",
    ),
    Line("SELECT * FROM hive_tbl", [(7, 8)]),
]
_CREATE_AS_SELECT: Final = [
    setup("CREATE TABLE other_table (a INT) ENGINE=hive"),
    setup("INSERT INTO other_table VALUES (1)"),
    Line("CREATE TABLE hive_ctas ENGINE=hive AS SELECT * FROM other_table;"),
    Line("SELECT * FROM hive_ctas", [(1,)]),
    setup("DROP TABLE hive_ctas"),
    setup("CREATE TABLE part_ctas_src (col1 INT, pt1 STRING, pt2 STRING) ENGINE=hive PARTITION BY LIST (pt1, pt2) ()"),
    setup("INSERT INTO part_ctas_src VALUES (0, 'x', 'y'), (1, 'p', 'q')"),
    Line(
        """CREATE TABLE hive_ctas ENGINE=hive
    PARTITION BY LIST (pt1, pt2) ()
    AS SELECT col1,pt1,pt2 FROM part_ctas_src WHERE col1>0;"""
    ),
    Line("SELECT * FROM hive_ctas", [(1, "p", "q")]),
    setup("DROP TABLE hive_ctas"),
    Line(
        """CREATE TABLE hive.<name>_hive_db.hive_ctas (col1,col2,pt1) ENGINE=hive
    PARTITION BY LIST (pt1) ()
    PROPERTIES (
    "file_format"="parquet",
    "compression"="zstd"
    )
    AS SELECT col1,pt1 as col2,pt2 as pt1 FROM <name>_hive_db.part_ctas_src WHERE col1>0;""",
        design="the same with hive_db and test_ctas",
    ),
    Line("SELECT * FROM hive_ctas", [(1, "p", "q")]),
    setup("DROP DATABASE <name>_db1 CASCADE"),
    setup("USE default"),
    setup("DROP DATABASE <name>_hive_db CASCADE"),
    Line("DROP CATALOG IF EXISTS hive;", design="DROP CATALOG [IF EXISTS] hive;"),
]
LINES: Final = [*_CATALOG, *_DATABASES, *_TABLES, *_INSERTS, *_CREATE_AS_SELECT]
