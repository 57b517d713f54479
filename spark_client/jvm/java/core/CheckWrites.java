package spark_client.core;

import java.net.URI;
import java.util.HashMap;
import java.util.Map;

import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.command.CreateDataSourceTableAsSelectCommand;
import org.apache.spark.sql.execution.command.CreateDataSourceTableCommand;
import org.apache.spark.sql.execution.command.LoadDataCommand;
import org.apache.spark.sql.execution.command.TruncateTableCommand;
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand;
import org.apache.spark.sql.hive.execution.CreateHiveTableAsSelectCommand;
import org.apache.spark.sql.hive.execution.InsertIntoHiveTable;
import org.apache.spark.unsafe.Platform;
import scala.Option;

/**
 * An analyzer rule: asks the metastore for the user's rights on tables whose files Spark's own writers change. Spark asks
 * after it has changed them, or never.
 *
 * It runs after the rules that replace the plans of the tables which this library reads and writes.
 */
public final class CheckWrites extends Rule {
  private final SparkSession session;
  private final Python python;

  public CheckWrites(SparkSession session, Python python) {
    this.session = session;
    this.python = python;
  }

  public TreeNode apply(TreeNode plan) {
    check((LogicalPlan) plan);
    return plan;
  }

  private void check(LogicalPlan plan) {
    if (plan.analyzed()) return;
    if (plan instanceof InsertIntoHadoopFsRelationCommand) {
      InsertIntoHadoopFsRelationCommand insert = (InsertIntoHadoopFsRelationCommand) plan;
      if (insert.catalogTable().isDefined()) {
        CatalogTable table = (CatalogTable) insert.catalogTable().get();
        checkWrite(table.identifier(), insert.mode() == SaveMode.Overwrite);
      }
    }
    if (plan instanceof InsertIntoHiveTable) {
      checkWrite(((InsertIntoHiveTable) plan).table().identifier(), ((InsertIntoHiveTable) plan).overwrite());
    }
    if (plan instanceof LoadDataCommand) {
      checkWrite(((LoadDataCommand) plan).table(), ((LoadDataCommand) plan).isOverwrite());
    }
    if (plan instanceof TruncateTableCommand) checkWrite(((TruncateTableCommand) plan).tableName(), true, true);
    if (plan instanceof CreateDataSourceTableAsSelectCommand) {
      CreateDataSourceTableAsSelectCommand create = (CreateDataSourceTableAsSelectCommand) plan;
      boolean appends = create.mode() != SaveMode.Overwrite && appends(create.table().identifier(), create.mode());
      if (!appends || isElsewhere(create.table())) checkCreate(create.table());
    }
    if (plan instanceof CreateDataSourceTableCommand) {  // lists the files of a location before it creates the table
      CatalogTable table = ((CreateDataSourceTableCommand) plan).table();
      if (isElsewhere(table)) checkCreate(table);
    }
    if (plan instanceof CreateHiveTableAsSelectCommand) { // creates the table before it writes files
      CreateHiveTableAsSelectCommand create = (CreateHiveTableAsSelectCommand) plan;
      appends(create.tableDesc().identifier(), create.mode());
    }
    for (Object child : Scala.list(plan.children())) check((LogicalPlan) child);
    for (Object child : Scala.list(plan.innerChildren())) if (child instanceof LogicalPlan) check((LogicalPlan) child);
  }

  private void checkWrite(TableIdentifier table, boolean overwrite) {
    checkWrite(table, overwrite, false);
  }

  private void checkWrite(TableIdentifier table, boolean overwrite, boolean truncates) {
    Map<String, Object> request = new HashMap<>();
    request.put("overwrite", overwrite);
    request.put("truncates", truncates);
    python.ask("check_write", table, request, null);
  }

  /** Whether CREATE TABLE AS SELECT is about a table that exists. It appends to that, or leaves it as it is. */
  private boolean appends(TableIdentifier table, SaveMode mode) {
    if (!session.sessionState().catalog().tableExists(table)) return false;
    if (mode == SaveMode.Append) checkWrite(table, false);
    return true;
  }

  /** Whether a new table names another location than the table that has its name. That one may be dropped by then. */
  private boolean isElsewhere(CatalogTable table) {
    SessionCatalog catalog = session.sessionState().catalog();
    if (location(table) == null) return false;
    try {
      if (!catalog.tableExists(table.identifier())) return true;
      return !location(table).equals(location(catalog.getTableMetadata(table.identifier())));
    } catch (Exception failure) {
      Platform.throwException(failure);
      return true;
    }
  }

  private void checkCreate(CatalogTable table) {
    Map<String, Object> request = new HashMap<>();
    request.put("location", location(table));
    python.ask("check_create", table.identifier(), request, null);
  }

  private String location(CatalogTable table) {
    Option uri = table.storage().locationUri();
    if (uri.isEmpty()) return null;
    return HiveTableIndex.qualified(new Path((URI) uri.get()), session.sessionState().newHadoopConf()).toString();
  }
}
