package spark_client.core;

import java.util.HashSet;
import java.util.List;
import java.util.Set;

import org.apache.spark.sql.catalyst.analysis.ResolveRowLevelCommandAssignments$;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.AppendData;
import org.apache.spark.sql.catalyst.plans.logical.Assignment;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.UpdateTable;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Function1;
import scala.Option;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractPartialFunction;

/**
 * The values that a statement assigns to columns, resolved by the rules that Spark applies to tables whose rows it can
 * change: fields of structs by name, and casts of the store assignment policy.
 *
 * Spark applies these rules to a DataSourceV2Relation only. For other tables it casts each value to the type of its
 * column, and so assigns fields of structs by position. So its casts are removed, and its rules see the table as such a
 * relation.
 */
final class AssignedValues {
  private AssignedValues() {}

  /** The statement without Spark's casts. It may be resolved where the statement is not, as some casts do not exist. */
  static LogicalPlan withoutCasts(LogicalPlan statement) {
    boolean assigns = statement instanceof UpdateTable || statement instanceof MergeIntoTable;
    return assigns ? (LogicalPlan) statement.transformExpressions(new WithoutCasts()) : statement;
  }

  /** An UPDATE or MERGE INTO whose values have the types of their columns. Each clause assigns to every column. */
  static LogicalPlan aligned(LogicalPlan statement, LogicalPlan target, CatalogTable table) {
    LogicalPlan given = withTarget(statement, relation(target, table));
    return withTarget((LogicalPlan) ResolveRowLevelCommandAssignments$.MODULE$.apply(given), target);
  }

  /** A query with the table's columns: the rows of INSERT … REPLACE WHERE. */
  static LogicalPlan rows(
      LogicalPlan query, boolean byName, LogicalPlan target, CatalogTable table, SparkSession session) {
    Object append = SparkVersions.newInstance(
        AppendData.class, relation(target, table), query, Map$.MODULE$.empty(), byName);
    Rule rule = session.sessionState().analyzer().ResolveOutputRelation();
    return ((AppendData) rule.apply((LogicalPlan) append)).query();
  }

  /** The columns to which a clause assigns, or to whose fields, in lower case. */
  static Set columns(Seq assignments) {
    Set<String> names = new HashSet<>();
    for (Assignment assignment : Scala.list(assignments)) {
      for (Attribute column : Scala.list(assignment.key().references())) names.add(column.name().toLowerCase());
    }
    return names;
  }

  private static LogicalPlan withTarget(LogicalPlan statement, LogicalPlan target) {
    List<Object> children = Scala.list(statement.children());
    children.set(0, target);
    return (LogicalPlan) statement.withNewChildren(Scala.seq(children));
  }

  private static LogicalPlan relation(LogicalPlan target, CatalogTable table) {
    return (LogicalPlan) SparkVersions.newInstance(
        DataSourceV2Relation.class, new RowLevelTable(table), target.output(), Option.empty(), Option.empty(),
        CaseInsensitiveStringMap.empty());
  }

  private static final class WithoutCasts extends AbstractPartialFunction {
    public boolean isDefinedAt(Object node) {
      return node instanceof Assignment;
    }

    public Object applyOrElse(Object node, Function1 otherwise) {
      if (!isDefinedAt(node)) return otherwise.apply(node);
      Assignment assignment = (Assignment) node;
      // The checks of CHAR and VARCHAR, which Spark puts around the cast, are added again.
      Option cast = assignment.value().find(new OfAssignment());
      return cast.isEmpty() ? assignment : new Assignment(assignment.key(), ((Cast) cast.get()).child());
    }
  }

  /** Finds the cast of a value to the type of its column. Casts in the text of the statement have no such tag. */
  private static final class OfAssignment extends AbstractFunction1 {
    public Object apply(Object node) {
      return node instanceof Cast && ((Expression) node).getTagValue(Cast$.MODULE$.BY_TABLE_INSERTION()).isDefined();
    }
  }
}
