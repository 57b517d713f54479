package spark_client.joins;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedHint;
import org.apache.spark.sql.classic.SparkSession;
import scala.Function1;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractPartialFunction;
import spark_client.core.Python;
import spark_client.core.Scala;

/** Rewrites a query with the hint SKEW_JOIN(t): Python splits the joins of t by its heavy keys. */
public final class SkewJoin extends AbstractFunction1 {
  private final SparkSession session;
  private final Python python;

  public SkewJoin(SparkSession session, Python python) {
    this.session = session;
    this.python = python;
  }

  public Object apply(Object plan) {
    UnresolvedHint hint = (UnresolvedHint) plan;
    List<String> tables = new ArrayList<>();
    for (Object table : Scala.list(hint.parameters())) {
      tables.add(table instanceof NamedExpression ? ((NamedExpression) table).name() : String.valueOf(table));
    }
    warnOfUnknown(tables, hint.child());
    return hint.child().transformUp(new Joins(tables));
  }

  /** Reports the tables that the plan does not have. A name matches an alias by its last part. */
  private void warnOfUnknown(List<String> tables, LogicalPlan plan) {
    List<String> known = new ArrayList<>();
    addAliases(plan, known);
    List<String> unknown = new ArrayList<>();
    for (Object table : tables) {
      String name = (String) table;
      boolean found = false;
      for (Object alias : known) {
        found = found || name.substring(name.lastIndexOf('.') + 1).equalsIgnoreCase((String) alias);
      }
      if (!found) unknown.add(name);
    }
    if (unknown.isEmpty()) return;
    Map<String, Object> request = new HashMap<>();
    request.put("tables", unknown);
    request.put("known", known);
    python.ask("skew_join_unknown", null, request, new ArrayList<Object>());
  }

  private static void addAliases(LogicalPlan plan, List<String> names) {
    if (plan instanceof SubqueryAlias) names.add(((SubqueryAlias) plan).alias());
    for (Object child : Scala.list(plan.children())) {
      addAliases((LogicalPlan) child, names);
    }
  }

  /** Replaces each join by the plan that Python returns. */
  private final class Joins extends AbstractPartialFunction {
    private final List tables;

    Joins(List tables) {
      this.tables = tables;
    }

    public boolean isDefinedAt(Object plan) {
      return plan instanceof Join;
    }

    public Object applyOrElse(Object plan, Function1 otherwise) {
      if (!isDefinedAt(plan)) return otherwise.apply(plan);
      Map<String, Object> request = new HashMap<>();
      request.put("tables", tables);
      List<Object> objects = new ArrayList<>(Arrays.asList(session, plan));
      python.ask("skew_join", null, request, objects);
      return objects.get(objects.size() - 1);
    }
  }
}
