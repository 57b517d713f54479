"""Superset reads tables through the Thrift server of `metastore spark serve`, with the URI of the page."""

from __future__ import annotations

import json
from pathlib import Path

from tests.fixtures.spark_servers import serving
from tests.integrations.lake import Lake
from tests.integrations.neighbours import blocks, run
from tests.integrations.venvs import installed

PROGRAM = """
import json, sys
from superset.app import create_app

with create_app().app_context():
    from superset.models.core import Database

    database = Database(database_name="lake", sqlalchemy_uri=sys.argv[1])
    tables = database.get_all_table_names_in_schema(catalog=None, schema="web")
    statement = "SELECT country, sum(price) AS price FROM visits GROUP BY country ORDER BY country"
    rows = database.get_df(statement, catalog=None, schema="web")
    print(json.dumps([sorted(database.get_all_schema_names(catalog=None)), sorted(each[0] for each in tables),
                      rows.to_dict("list")]))
"""
SETTINGS = "SECRET_KEY = 'of the test'\nSQLALCHEMY_DATABASE_URI = 'sqlite://'\n"
# Superset 6.1.0 does not start with newer versions of Flask-Caching, and does not declare that it needs cachetools.
PACKAGES = ("apache-superset[hive]==6.1.*", "flask-caching<2.4", "cachetools", "pure-sasl", "thrift-sasl")


def test_the_page(lake: Lake, tmp_path: Path) -> None:
    venv = installed("superset-6.1", *PACKAGES)
    (address,) = (block.strip() for block in blocks("text") if block.startswith("hive://"))
    (tmp_path / "superset_config.py").write_text(SETTINGS)
    (tmp_path / "program.py").write_text(PROGRAM)
    (served := tmp_path / "served").mkdir()
    with serving(lake.server.uri, served) as servers:
        uri = address.replace("spark.example.com:10000", f"127.0.0.1:{servers.thrift.rpartition(':')[2]}")
        command = [venv / "bin/python", "program.py", uri]
        output = run(
            "Superset",
            command,
            tmp_path,
            PYTHONPATH=str(tmp_path),
            SUPERSET_CONFIG_PATH=str(tmp_path / "superset_config.py"),
        )
    schemas, tables, rows = json.loads(output.splitlines()[-1])
    assert {"default", "web"} <= set(schemas)
    assert tables == ["web"]  # PyHive takes the first column of Spark's SHOW TABLES, which is the database
    assert rows == {"country": ["ca", "us"], "price": [4.0, 8.0]}
