package spark_client.core;

import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.internal.SQLConf;

/** A session that resolves column names without regard to case. */
final class CaseInsensitiveSession {
  /** The session itself, or a clone with all other settings if the session is case-sensitive. */
  static SparkSession of(Object original) {
    SparkSession session = (SparkSession) original;
    if (!settings(original).caseSensitiveAnalysis()) return session;
    SparkSession clone = session.cloneSession();
    clone.sessionState().conf().setConfString("spark.sql.caseSensitive", "false");
    return clone;
  }

  /** The settings of a session. */
  static SQLConf settings(Object session) {
    return ((SparkSession) session).sessionState().conf();
  }
}
