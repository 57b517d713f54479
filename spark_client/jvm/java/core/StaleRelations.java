package spark_client.core;

import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.catalog.UnresolvedCatalogRelation;
import org.apache.spark.sql.catalyst.plans.logical.InsertIntoStatement;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.FindDataSourceTable;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Finds relations of tables that have changed: a session caches datasource tables, which another session may have
 * replaced.
 */
final class StaleRelations {
  private final SparkSession session;

  StaleRelations(SparkSession session) {
    this.session = session;
  }

  /** The relation of the table, or the INSERT into it, resolved again. Null if the table is unchanged. */
  LogicalPlan refreshed(LogicalPlan plan, CatalogTable cached) {
    SessionCatalog catalog = session.sessionState().catalog();
    CatalogTable now = catalog.getTempViewOrPermanentTableMetadata(cached.identifier());
    if (sameLayout(now, cached)) return null;
    catalog.invalidateCachedTable(cached.identifier());
    CaseInsensitiveStringMap none = CaseInsensitiveStringMap.empty();
    LogicalPlan unresolved = new UnresolvedCatalogRelation(now, none, false);
    if (plan instanceof InsertIntoStatement) {
      Object[] arguments = Scala.list(plan.productIterator().toSeq()).toArray();
      arguments[0] = unresolved;
      unresolved = (LogicalPlan) plan.makeCopy(arguments);
    }
    return new FindDataSourceTable(session).apply(unresolved);
  }

  private static boolean sameLayout(CatalogTable one, CatalogTable other) {
    return one.provider().equals(other.provider())
        && one.schema().equals(other.schema())
        && one.partitionColumnNames().equals(other.partitionColumnNames())
        && one.bucketSpec().equals(other.bucketSpec())
        && one.storage().locationUri().equals(other.storage().locationUri());
  }
}
