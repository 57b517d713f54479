"""Processes through which statements reach tables: a driver that serves Connect and JDBC, another driver, a client.

    python client_program.py driver URI [CONNECT_PORT THRIFT_PORT] | python client_program.py connect sc://host:port

Each line of input is {"sql": …, "interface": "classic" or a JDBC URL}; each line of output has `rows` or `error`. It
imports no other module of the tests, so that a Python with only Spark Connect's client can run it.
"""

import json
import sys

SETTINGS = {
    "spark.driver.memory": "1g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
}


def driver(uri, connect=None, thrift=None, *jars):
    """Returns a function that runs SQL in a session of this library, or through JDBC, and returns the rows."""
    import spark_client

    conf = {**SETTINGS, **({"spark.jars": jars[0]} if jars else {})}
    ports = {"connect": int(connect) if connect != "-" else None, "thrift": int(thrift)} if thrift else {}
    if ports:
        spark = spark_client.serve(uri, master="local[2]", conf=conf, **ports).session
    else:
        spark = spark_client.session(uri, master="local[2]", conf=conf)
    spark.sparkContext.setLogLevel("OFF")
    connections = {}

    def answer(sql, interface):
        if interface == "classic":
            return [list(row) for row in spark.sql(sql).collect()]
        if interface not in connections:
            driver_class = spark._jvm.org.apache.hive.jdbc.HiveDriver()
            connection = driver_class.connect(interface, spark._jvm.java.util.Properties())
            connections[interface] = connection.createStatement()
        statement = connections.pop(interface)  # it comes back if the server has answered
        executed = statement.execute(sql)
        connections[interface] = statement
        if not executed:
            return []
        actual, rows = statement.getResultSet(), []
        count = actual.getMetaData().getColumnCount()
        while actual.next():
            rows.append([actual.getString(number + 1) for number in range(count)])
        return rows

    return answer


def connect(remote):
    """Returns a function that runs SQL through Spark Connect, and returns the rows."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.remote(remote).create()
    return lambda sql, interface: [list(row) for row in spark.sql(sql).collect()]


def main(kind, *arguments):
    """Answers each line of the input, until it ends."""
    answer = {"driver": driver, "connect": connect}[kind](*arguments)
    print(json.dumps({"ready": True}), flush=True)  # noqa: T201
    for line in sys.stdin:
        try:
            actual = {"rows": answer(**json.loads(line))}
        except Exception as error:  # noqa: BLE001 - the asking process judges it
            actual = {"error": f"{type(error).__name__}: {str(error)[:500]}"}
        print(json.dumps(actual, default=str), flush=True)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
