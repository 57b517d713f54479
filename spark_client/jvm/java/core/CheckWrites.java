package spark_client.core;

import java.net.URI;
import java.util.HashMap;
import java.util.Map;

import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.command.CreateDataSourceTableAsSelectCommand;
import org.apache.spark.sql.execution.command.LoadDataCommand;
import org.apache.spark.sql.execution.command.TruncateTableCommand;
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand;
import org.apache.spark.sql.hive.execution.CreateHiveTableAsSelectCommand;
import org.apache.spark.sql.hive.execution.InsertIntoHiveTable;
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
    if (plan instanceof TruncateTableCommand) checkWrite(((TruncateTableCommand) plan).tableName(), true);
    if (plan instanceof CreateDataSourceTableAsSelectCommand) {
      CreateDataSourceTableAsSelectCommand create = (CreateDataSourceTableAsSelectCommand) plan;
      if (!appends(create.table().identifier(), create.mode())) checkCreate(create.table());
    }
    if (plan instanceof CreateHiveTableAsSelectCommand) { // creates the table before it writes files
      CreateHiveTableAsSelectCommand create = (CreateHiveTableAsSelectCommand) plan;
      appends(create.tableDesc().identifier(), create.mode());
    }
    for (Object child : Scala.list(plan.children())) check((LogicalPlan) child);
    for (Object child : Scala.list(plan.innerChildren())) if (child instanceof LogicalPlan) check((LogicalPlan) child);
  }

  private void checkWrite(TableIdentifier table, boolean overwrite) {
    Map<String, Object> request = new HashMap<>();
    request.put("overwrite", overwrite);
    python.ask("check_write", table, request, null);
  }

  /** Whether CREATE TABLE AS SELECT is about a table that exists. It appends to that, or leaves it as it is. */
  private boolean appends(TableIdentifier table, SaveMode mode) {
    if (!session.sessionState().catalog().tableExists(table)) return false;
    if (mode == SaveMode.Append) checkWrite(table, false);
    return true;
  }

  private void checkCreate(CatalogTable table) {
    Map<String, Object> request = new HashMap<>();
    request.put("location", location(table.storage().locationUri()));
    python.ask("check_create", table.identifier(), request, null);
  }

  private String location(Option uri) {
    if (uri.isEmpty()) return null;
    return HiveTableIndex.qualified(new Path((URI) uri.get()), session.sessionState().newHadoopConf()).toString();
  }
}
