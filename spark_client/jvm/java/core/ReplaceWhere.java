package spark_client.core;

import java.util.ArrayList;
import java.util.List;

import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.Assignment;
import org.apache.spark.sql.catalyst.plans.logical.DeleteAction;
import org.apache.spark.sql.catalyst.plans.logical.InsertAction;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.trees.TreeNodeTag;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import scala.Option;

/**
 * INSERT … REPLACE WHERE and df.writeTo(…).overwrite(…), as a MERGE INTO that never matches.
 *
 * It deletes the table's rows for which the condition is true, and inserts the rows of its source. The insert is added
 * when the source is resolved, because Spark matches the columns of an INSERT in another way than those of a MERGE.
 */
final class ReplaceWhere {
  /** On the MERGE: whether the columns of the source go by name. */
  private static final TreeNodeTag BY_NAME = new TreeNodeTag("spark_client.replace_where.by_name");

  private ReplaceWhere() {}

  static LogicalPlan of(LogicalPlan target, LogicalPlan query, boolean byName, Expression condition) {
    DeleteAction delete = new DeleteAction(Option.apply(condition));
    LogicalPlan merge = (LogicalPlan) SparkVersions.newInstance(
        MergeIntoTable.class, target, query, new Literal(false, DataTypes.BooleanType), Scala.seq(), Scala.seq(),
        Scala.seq(delete));
    merge.setTagValue(BY_NAME, byName);
    return merge;
  }

  static boolean is(LogicalPlan plan) {
    return plan.getTagValue(BY_NAME).isDefined();
  }

  /** The MERGE with the rows of its source in the form of the table, and with their insert. */
  static LogicalPlan withInsert(MergeIntoTable merge, CatalogTable table, SparkSession session) {
    boolean byName = (Boolean) merge.getTagValue(BY_NAME).get();
    LogicalPlan rows = AssignedValues.rows(merge.sourceTable(), byName, merge.targetTable(), table, session);
    List columns = Scala.list(merge.targetTable().output()), values = Scala.list(rows.output());
    List<Object> assignments = new ArrayList<>();
    for (int i = 0; i < columns.size(); i++) {
      assignments.add(new Assignment((Expression) columns.get(i), (Expression) values.get(i)));
    }
    InsertAction insert = new InsertAction(Option.empty(), Scala.seq(assignments));
    return (LogicalPlan) SparkVersions.newInstance(
        MergeIntoTable.class, merge.targetTable(), rows, merge.mergeCondition(), Scala.seq(), Scala.seq(insert),
        merge.notMatchedBySourceActions());
  }
}
