package spark_client.core;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;

import org.apache.spark.sql.catalyst.expressions.AesEncrypt;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.expressions.UserDefinedExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import scala.runtime.AbstractFunction1;

/**
 * Decides whether a query surely has the same rows each time that its tasks run.
 *
 * Spark's flag `deterministic` does not suffice: functions of users have it unless they declare otherwise, and the
 * results of window functions, LIMIT and others depend on the order in which a shuffle delivers equal rows. So the
 * nodes and aggregate functions whose results are certain are listed, and everything else is uncertain.
 */
public final class Repeatable {
  private static final Set NODES = new HashSet(Arrays.asList(new String[] {
      "Project", "Filter", "SubqueryAlias", "View", "Join", "Union", "Distinct", "Aggregate", "Intersect", "Except",
      "Sort", "Repartition", "RepartitionByExpression", "RebalancePartitions", "ResolvedHint", "Generate", "Expand",
      "WithCTE", "CTERelationDef", "CTERelationRef", "LocalRelation", "OneRowRelation", "Range", "HiveTableRelation"}));

  private static final Set AGGREGATES = new HashSet(Arrays.asList(
      new String[] {"Count", "Min", "Max", "Sum", "Average", "BitAndAgg", "BitOrAgg", "BitXorAgg"}));

  /** Nodes that keep one of several equal rows. */
  private static final Set DISTINCT =
      new HashSet(Arrays.asList(new String[] {"Distinct", "Aggregate", "Intersect", "Except"}));

  /** Whether the rows of a query are the same each time. */
  public boolean rows(Dataset frame) {
    return !frame.queryExecution().analyzed().exists(new UncertainNode());
  }

  /**
   * The rows of a query, computed once. A task that cannot read them any more, because its executor has ended, fails
   * instead of computing them again. The columns keep their identity.
   */
  public Dataset once(Dataset frame) {
    return frame.localCheckpoint(true);
  }

  /** Deletes the rows that `once` has stored. */
  public void release(Dataset stored) {
    LogicalPlan plan = stored.queryExecution().logical();
    if (plan instanceof LogicalRDD) ((LogicalRDD) plan).rdd().unpersist(false);
  }

  /** Whether equal values may have different texts. */
  private static boolean isCollated(Expression value) {
    return value.dataType().existsRecursively(new CollatedType());
  }

  private static boolean isCertain(Expression expression) {
    return !expression.exists(new UncertainExpression());
  }

  private static final class UncertainNode extends AbstractFunction1 {
    public Object apply(Object object) {
      LogicalPlan node = (LogicalPlan) object;
      if (node instanceof LogicalRelation) {
        // Other relations, such as JDBC's, run a query of their own each time.
        return !(((LogicalRelation) node).relation() instanceof HadoopFsRelation);
      }
      // The rows of a checkpoint are stored.
      if (node instanceof LogicalRDD) return !((LogicalRDD) node).rdd().isCheckpointed();
      String name = node.getClass().getSimpleName();
      if (!NODES.contains(name)) return true;
      if (DISTINCT.contains(name)) {
        for (Object column : Scala.list(node.output())) if (isCollated((Expression) column)) return true;
      }
      for (Object expression : Scala.list(node.expressions())) {
        if (!isCertain((Expression) expression)) return true;
      }
      return false;
    }
  }

  private static final class UncertainExpression extends AbstractFunction1 {
    public Object apply(Object object) {
      Expression node = (Expression) object;
      if (node instanceof PlanExpression) {
        LogicalPlan plan = (LogicalPlan) ((PlanExpression) node).plan();
        return plan.exists(new UncertainNode());
      }
      if (node instanceof AggregateFunction) {
        // The sum of floating-point numbers depends on their order, and 0.0 and -0.0 are equal.
        boolean isFloating = node.dataType().existsRecursively(new FloatingType());
        return !AGGREGATES.contains(node.getClass().getSimpleName()) || isFloating || isCollated(node);
      }
      // Spark calls aes_encrypt deterministic, although it takes a random vector if none is given.
      return node instanceof UserDefinedExpression || node instanceof AesEncrypt || !node.deterministic();
    }
  }

  private static final class FloatingType extends AbstractFunction1 {
    public Object apply(Object type) {
      return type instanceof DoubleType || type instanceof FloatType;
    }
  }

  private static final class CollatedType extends AbstractFunction1 {
    public Object apply(Object type) {
      return SparkVersions.isCollated((DataType) type);
    }
  }
}
