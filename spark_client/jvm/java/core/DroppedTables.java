package spark_client.core;

import java.util.List;

import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.DropTableEvent;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogEvent;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogEventListener;
import org.apache.spark.sql.classic.SparkSession;
import scala.Option;
import scala.collection.immutable.Seq;

/** Notices what Spark 3.5 drops before saveAsTable writes in its place: there, nobody is asked before that. */
public final class DroppedTables implements ExternalCatalogEventListener {
  /** What a thread has dropped since a name was last read in it. */
  private static final ThreadLocal DROPPED = new ThreadLocal();

  public void onEvent(ExternalCatalogEvent event) {
    if (event instanceof DropTableEvent) DROPPED.set(event);
  }

  /** As saveAsTable begins. The catalog is not there before somebody asks for it: a view needs none. */
  static void nameIsRead(SparkSession session, Seq name) {
    // since 4.0 {
    if (session != null) return;
    // }
    DROPPED.remove();
    if (session.sessionState().catalog().isTempView(name)) return;
    List listeners = session.sharedState().externalCatalog().listeners();
    for (Object each : listeners) if (each instanceof DroppedTables) return;
    session.sharedState().externalCatalog().addListener(new DroppedTables());
  }

  /** Whether this thread has just dropped a table to save another one over it; answers so once. */
  static boolean dropped(TableIdentifier table) {
    DropTableEvent event = (DropTableEvent) DROPPED.get();
    DROPPED.remove();
    return event != null && event.name().equals(table.table()) && Option.apply(event.database()).equals(table.database());
  }
}
