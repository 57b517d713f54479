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
 * A rule of the analyzer: partitions that dependent tables name by a TIMESTAMP mean it in the session's time zone, as
 * their bases do. Spark analyzes the text of a view without that setting, unless it was there when the view was made.
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
      // What a view is made of has been analyzed before: it would not be resolved once more.
      Object now = text.transformAllExpressions(new Moments(session.sessionState().conf().sessionLocalTimeZone()));
      return now == text ? view : view.withNewChildren(Scala.seq(now));
    }
  }

  /** Texts that are cast to moments. */
  private static final class Moments extends AbstractPartialFunction {
    private final String zone;

    Moments(String zone) {
      this.zone = zone;
    }

    public boolean isDefinedAt(Object expression) {
      if (!(expression instanceof Cast)) return false;
      Cast cast = (Cast) expression;
      boolean ofText = cast.child() instanceof Literal && cast.child().dataType() instanceof StringType;
      return ofText && cast.dataType() instanceof TimestampType && !cast.timeZoneId().contains(zone);
    }

    public Object applyOrElse(Object expression, Function1 otherwise) {
      return isDefinedAt(expression) ? ((Cast) expression).withTimeZone(zone) : otherwise.apply(expression);
    }
  }
}
