package spark_client.core;

import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.internal.SQLConf;

/** A session that finds columns in any case. */
final class CaseInsensitiveSession {
  /** The session, or, where it minds the case of names, one with all its other settings. */
  static SparkSession of(Object given) {
    SparkSession session = (SparkSession) given;
    if (!settings(given).caseSensitiveAnalysis()) return session;
    SparkSession other = session.cloneSession();
    other.sessionState().conf().setConfString("spark.sql.caseSensitive", "false");
    return other;
  }

  /** Of a session, as itself. */
  static SQLConf settings(Object session) {
    return ((SparkSession) session).sessionState().conf();
  }
}
