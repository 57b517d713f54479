package spark_client.core;

import org.apache.spark.SparkThrowable;
import org.apache.spark.sql.execution.QueryExecutionException;

/**
 * An error of the Python side that has an error condition and an SQLSTATE.
 *
 * Spark Connect, JDBC and handlers of SQL scripts read both from the interface SparkThrowable. Its methods look the
 * SQLSTATE up in Spark's own list of conditions, which cannot be extended, so they are overridden.
 */
public final class ClientException extends QueryExecutionException implements SparkThrowable {
  private final String condition;
  private final String sqlState;

  public ClientException(String message, String condition, String sqlState) {
    super(message, null);
    this.condition = condition;
    this.sqlState = sqlState;
  }

  /** The name of the condition, since Spark 4.0. */
  public String getCondition() {
    return condition;
  }

  /** The name of the condition in Spark 3.5. */
  public String getErrorClass() {
    return condition;
  }

  public String getSqlState() {
    return sqlState;
  }
}
