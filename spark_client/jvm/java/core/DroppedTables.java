package spark_client.core;

import java.util.List;

import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.DropTableEvent;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogEvent;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogEventListener;
import org.apache.spark.sql.classic.SparkSession;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * Records the tables that saveAsTable of Spark 3.5 drops before it writes the new table: no hook runs before the drop.
 */
public final class DroppedTables implements ExternalCatalogEventListener {
  /** The last table that a thread has dropped since it last parsed a table name. */
  private static final ThreadLocal LAST_DROPPED = new ThreadLocal();

  public void onEvent(ExternalCatalogEvent event) {
    if (event instanceof DropTableEvent) LAST_DROPPED.set(event);
  }

  /** Called when saveAsTable begins. The catalog is not initialized for a temporary view, which does not need it. */
  static void onTableName(SparkSession session, Seq name) {
    // since 4.0 {
    if (session != null) return;
    // }
    LAST_DROPPED.remove();
    if (session.sessionState().catalog().isTempView(name)) return;
    List listeners = session.sharedState().externalCatalog().listeners();
    for (Object each : listeners) if (each instanceof DroppedTables) return;
    session.sharedState().externalCatalog().addListener(new DroppedTables());
  }

  /** Whether this thread has just dropped the table in order to save a new one. The record is cleared. */
  static boolean takeDropped(TableIdentifier table) {
    DropTableEvent event = (DropTableEvent) LAST_DROPPED.get();
    LAST_DROPPED.remove();
    return event != null && event.name().equals(table.table()) && Option.apply(event.database()).equals(table.database());
  }
}
