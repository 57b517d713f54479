package spark_client.core;


import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedHint;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.classic.SparkSession;
import scala.Function1;
import scala.runtime.AbstractPartialFunction;

/** An analyzer rule: applies SkewJoin to queries with the hint SKEW_JOIN(t). */
public final class ResolveSkewJoin extends Rule {
  private final SparkSession session;
  private final Python python;

  public ResolveSkewJoin(SparkSession session, Python python) {
    this.session = session;
    this.python = python;
  }

  public TreeNode apply(TreeNode plan) {
    return ((LogicalPlan) plan).resolveOperatorsUp(new Hints());
  }

  /** Matches the hint as soon as its child is resolved. */
  private final class Hints extends AbstractPartialFunction {
    public boolean isDefinedAt(Object plan) {
      if (!(plan instanceof UnresolvedHint)) return false;
      UnresolvedHint hint = (UnresolvedHint) plan;
      return hint.name().equalsIgnoreCase("SKEW_JOIN") && hint.child().resolved();
    }

    public Object applyOrElse(Object plan, Function1 otherwise) {
      if (!isDefinedAt(plan)) return otherwise.apply(plan);
      return ((Function1) python.make("joins", "SkewJoin", session, python)).apply(plan);
    }
  }
}
