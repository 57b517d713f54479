package spark_client.core;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;

import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.execution.command.ExplainCommand;
import scala.Function1;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractPartialFunction;

/**
 * EXPLAIN: Spark's output, followed by Python's: the scans of Hive tables, and the queries of this library's commands.
 */
public final class Explain extends Command.Operation {
  private final ExplainCommand command;
  private final Python python;

  Explain(ExplainCommand command, Python python) {
    this.command = command;
    this.python = python;
  }

  public Seq output() {
    return command.output();
  }

  public List run(SparkSession session) {
    String text = explained(session);
    List<Object> objects = new ArrayList<>();
    objects.add(session);
    objects.add(command.logicalPlan());
    objects.add(command.mode());
    List<Row> rows = new ArrayList<>();
    String more = python.ask("explain", null, new HashMap<>(), objects).get("text").asText();
    rows.add(RowFactory.create(new Object[] {more.isEmpty() ? text : text.trim() + "\n" + more}));
    return rows;
  }

  /** Spark's output. The scans of the query are planned, but no query runs. */
  private String explained(SparkSession session) {
    String before = session.sparkContext().getLocalProperty(HiveTableIndex.NO_QUERY);
    session.sparkContext().setLocalProperty(HiveTableIndex.NO_QUERY, "true");
    try {
      return ((Row) command.run(session).apply(0)).getString(0);
    } finally {
      session.sparkContext().setLocalProperty(HiveTableIndex.NO_QUERY, before);
    }
  }

  public String toString() {
    return command.mode().name();
  }

  /** The analyzer rule that replaces Spark's command. */
  public static final class Resolve extends Rule {
    private final Python python;

    public Resolve(Python python) {
      this.python = python;
    }

    public TreeNode apply(TreeNode plan) {
      LogicalPlan whole = (LogicalPlan) plan;
      return whole.containsPattern(TreePattern.COMMAND()) ? whole.resolveOperatorsUp(new Commands()) : plan;
    }

    private final class Commands extends AbstractPartialFunction {
      public boolean isDefinedAt(Object plan) {
        return plan instanceof ExplainCommand;
      }

      public Object applyOrElse(Object plan, Function1 otherwise) {
        if (!isDefinedAt(plan)) return otherwise.apply(plan);
        return new Command(new Explain((ExplainCommand) plan, python), "EXPLAIN");
      }
    }
  }
}
