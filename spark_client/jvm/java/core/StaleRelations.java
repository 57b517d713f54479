package spark_client.core;

import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.catalog.UnresolvedCatalogRelation;
import org.apache.spark.sql.catalyst.plans.logical.InsertIntoStatement;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.FindDataSourceTable;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A session remembers what Spark's own tables are like; another one may have put others into their places. */
final class StaleRelations {
  private final SparkSession session;

  StaleRelations(SparkSession session) {
    this.session = session;
  }

  /** The relation of the table, or the INSERT into it, resolved again; null where the table is as it was. */
  LogicalPlan again(LogicalPlan plan, CatalogTable remembered) {
    SessionCatalog catalog = session.sessionState().catalog();
    CatalogTable now = catalog.getTempViewOrPermanentTableMetadata(remembered.identifier());
    if (alike(now, remembered)) return null;
    catalog.invalidateCachedTable(remembered.identifier());
    CaseInsensitiveStringMap none = CaseInsensitiveStringMap.empty();
    LogicalPlan unresolved = new UnresolvedCatalogRelation(now, none, false);
    if (plan instanceof InsertIntoStatement) {
      Object[] arguments = Scala.list(plan.productIterator().toSeq()).toArray();
      arguments[0] = unresolved;
      unresolved = (LogicalPlan) plan.makeCopy(arguments);
    }
    return new FindDataSourceTable(session).apply(unresolved);
  }

  private static boolean alike(CatalogTable one, CatalogTable other) {
    return one.provider().equals(other.provider())
        && one.schema().equals(other.schema())
        && one.partitionColumnNames().equals(other.partitionColumnNames())
        && one.bucketSpec().equals(other.bucketSpec())
        && one.storage().locationUri().equals(other.storage().locationUri());
  }
}
