package spark_client.core;

import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.View;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.TimestampType;
import scala.Function1;
import scala.runtime.AbstractPartialFunction;

/**
 * An analyzer rule: TIMESTAMP values in the text of a dependent table are in the session's time zone, like its bases'
 * values.
 *
 * Spark analyzes the text of a view without that setting, unless it was set when the view was created.
 */
public final class ResolveDependentTables extends Rule {
  private final SparkSession session;

  public ResolveDependentTables(SparkSession session) {
    this.session = session;
  }

  public TreeNode apply(TreeNode plan) {
    return ((LogicalPlan) plan).resolveOperatorsUp(new Views());
  }

  private final class Views extends AbstractPartialFunction {
    public boolean isDefinedAt(Object plan) {
      return plan instanceof View && ((View) plan).desc().properties().contains(ResolveV2Writes.DEPENDENT);
    }

    public Object applyOrElse(Object plan, Function1 otherwise) {
      if (!isDefinedAt(plan)) return otherwise.apply(plan);
      LogicalPlan view = (LogicalPlan) plan, text = ((View) plan).child();
      // The children of a view are already analyzed and would not be resolved again.
      String zone = session.sessionState().conf().sessionLocalTimeZone();
      Object changed = text.transformAllExpressions(new TimestampCasts(zone));
      return changed == text ? view : view.withNewChildren(Scala.seq(changed));
    }
  }

  /** Matches casts of string literals to TIMESTAMP. */
  private static final class TimestampCasts extends AbstractPartialFunction {
    private final String zone;

    TimestampCasts(String zone) {
      this.zone = zone;
    }

    public boolean isDefinedAt(Object expression) {
      if (!(expression instanceof Cast)) return false;
      Cast cast = (Cast) expression;
      boolean isLiteral = cast.child() instanceof Literal && cast.child().dataType() instanceof StringType;
      return isLiteral && cast.dataType() instanceof TimestampType && !cast.timeZoneId().contains(zone);
    }

    public Object applyOrElse(Object expression, Function1 otherwise) {
      return isDefinedAt(expression) ? ((Cast) expression).withTimeZone(zone) : otherwise.apply(expression);
    }
  }
}
