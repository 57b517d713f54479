package spark_client;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;

import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedHint;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.classic.SparkSession;
import scala.Function1;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractPartialFunction;

/** A rule of the analyzer: in SELECT with the hint SKEW_JOIN(t), Python splits the joins of t by its heavy keys. */
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
      UnresolvedHint hint = (UnresolvedHint) plan;
      List tables = new ArrayList();
      for (Iterator i = CollectionConverters.asJava(hint.parameters()).iterator(); i.hasNext();) {
        Object table = i.next();
        tables.add(table instanceof NamedExpression ? ((NamedExpression) table).name() : String.valueOf(table));
      }
      return hint.child().transformUp(new Joins(tables));
    }
  }

  /** Joins, each replaced by what Python makes of it. */
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
      Map request = new HashMap();
      request.put("tables", tables);
      List objects = new ArrayList();
      objects.add(session);
      objects.add(plan);
      python.ask("skew_join", null, request, objects);
      return objects.get(objects.size() - 1);
    }
  }
}
