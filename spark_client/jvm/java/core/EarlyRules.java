package spark_client.core;

import java.util.ArrayList;
import java.util.List;

import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedWith;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.command.ExplainCommand;
import scala.Function1;
import scala.Product;
import scala.Tuple2;
import scala.collection.Seq;
import scala.runtime.AbstractPartialFunction;

/** Rules that run before names are resolved, for Sparks without an extension point for them. They run after parsing. */
final class EarlyRules extends AbstractPartialFunction {
  private final List<Rule> rules = new ArrayList<>();

  EarlyRules(List builders, Object session) {
    for (Object builder : builders) rules.add((Rule) ((Function1) builder).apply(session));
  }

  /** Applies the rules to a plan, and to plans in it that are not children: of sub-queries, WITH and EXPLAIN. */
  LogicalPlan apply(LogicalPlan parsed) {
    if (rules.isEmpty()) return parsed;
    if (parsed instanceof ExplainCommand) {
      ExplainCommand explain = (ExplainCommand) parsed;
      return (LogicalPlan) SparkVersions.newInstance(ExplainCommand.class, apply(explain.logicalPlan()), explain.mode());
    }
    LogicalPlan plan = parsed;
    for (Rule rule : rules) plan = (LogicalPlan) rule.apply(plan);
    return (LogicalPlan) ((LogicalPlan) plan.transformDown(this)).transformAllExpressions(this);
  }

  public boolean isDefinedAt(Object node) {
    return node instanceof UnresolvedWith || node instanceof PlanExpression;
  }

  public Object applyOrElse(Object node, Function1 otherwise) {
    if (!isDefinedAt(node)) return otherwise.apply(node);
    if (node instanceof PlanExpression) {
      PlanExpression query = (PlanExpression) node;
      return query.withNewPlan(apply((LogicalPlan) query.plan()));
    }
    Object[] parts = new Object[((Product) node).productArity()];
    for (int i = 0; i < parts.length; i++) parts[i] = ((Product) node).productElement(i);
    List<Object> named = new ArrayList<>();
    for (Object each : Scala.list((Seq) parts[1])) {
      Tuple2 entry = (Tuple2) each;
      named.add(new Tuple2(entry._1(), apply((LogicalPlan) entry._2())));
    }
    parts[1] = Scala.seq(named);
    return ((TreeNode) node).makeCopy(parts);
  }
}
