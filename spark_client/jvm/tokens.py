"""The delegation token with which Spark's own metastore client authenticates."""

from __future__ import annotations

from typing import Any, Final

from pyspark import SparkContext

from spark_client.jvm.objects import java_class

_SERVICE: Final = "spark_client"


def settings(text: str | None) -> dict[str, str]:
    """Returns the settings with which Hive's client uses the token of this service, if there is a token."""
    if text is None:
        return {}
    return {
        "spark.hadoop.hive.metastore.sasl.enabled": "true",
        "spark.hadoop.hive.metastore.token.signature": _SERVICE,
    }


def add(context: SparkContext, text: str | None) -> None:
    """Adds a token, as get_delegation_token returns it, to the credentials of the JVM's user. None: does nothing."""
    if text is None:
        return
    java: Any = context._jvm  # noqa: SLF001 - PySpark has no public API for it
    token = java_class(java, "org.apache.hadoop.security.token.Token")()
    token.decodeFromUrlString(text)
    token.setService(java_class(java, "org.apache.hadoop.io.Text")(_SERVICE))
    java_class(java, "org.apache.hadoop.security.UserGroupInformation").getCurrentUser().addToken(token)
