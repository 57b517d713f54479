package spark_client.core;

import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Set;

import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.HiveTableRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/**
 * An optimizer rule: asks the metastore for the right to read each table that Spark's own readers read. Spark never asks.
 *
 * The optimizer runs once for a query that is executed, and once for each of its subqueries. The analyzer is not the
 * place. After LOAD DATA and ADD PARTITION, which need no SELECT, it resolves the table whose cached rows Spark
 * discards. It also skips plans of tables that Spark has kept from earlier queries.
 */
public final class CheckReads extends Rule {
  private final Python python;

  public CheckReads(Python python) {
    this.python = python;
  }

  public TreeNode apply(TreeNode plan) {
    Set<CatalogTable> tables = new LinkedHashSet<>();
    for (Object leaf : Scala.list(plan.collectLeaves())) {
      if (leaf instanceof HiveTableRelation) tables.add(((HiveTableRelation) leaf).tableMeta());
      if (leaf instanceof LogicalRelation && isReadBySpark((LogicalRelation) leaf)) {
        tables.add((CatalogTable) ((LogicalRelation) leaf).catalogTable().get());
      }
    }
    for (CatalogTable table : tables) python.ask("check_read", table.identifier(), new HashMap<>(), null);
    return plan;
  }

  private static boolean isReadBySpark(LogicalRelation relation) {
    return relation.catalogTable().isDefined()
        && relation.relation() instanceof HadoopFsRelation
        && !(((HadoopFsRelation) relation.relation()).location() instanceof HiveTableIndex);
  }
}
