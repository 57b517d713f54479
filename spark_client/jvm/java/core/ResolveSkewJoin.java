package spark_client.core;

import java.util.function.BiFunction;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedHint;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.classic.SparkSession;
import scala.Function1;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractPartialFunction;

/** A rule of the analyzer: finds SELECT with the hint SKEW_JOIN(t). What becomes of its joins, SkewJoin knows. */
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

  /** What SparkSessionExtensions is given: it makes the rule of each session. */
  public static final class Builder extends AbstractFunction1 {
    private final Python python;

    public Builder(BiFunction python) {
      this.python = new Python(python);
    }

    public Object apply(Object session) {
      return new ResolveSkewJoin((SparkSession) session, python);
    }
  }

  /** The hint, as soon as all below it is resolved. */
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
