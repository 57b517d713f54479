package spark_client.core;

import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.classic.SparkSession;

/** Makes Spark forget cached data and metadata of tables that a statement has changed. */
final class ChangedTables {
  private ChangedTables() {}

  /**
   * If nothing is cached with CACHE TABLE, it suffices to invalidate the catalog's entry. REFRESH TABLE would first
   * analyze the table.
   */
  static void refresh(org.apache.spark.sql.SparkSession any, TableIdentifier table) {
    SparkSession session = (SparkSession) any;
    TableIdentifier name = new TableIdentifier(table.table(), table.database());
    if (session.sharedState().cacheManager().isEmpty()) session.sessionState().catalog().invalidateCachedTable(name);
    else session.catalog().refreshTable(name.quotedString());
  }
}
