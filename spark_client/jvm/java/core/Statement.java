package spark_client.core;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;
import scala.Function1;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractPartialFunction;

/**
 * A possible statement of this library.
 *
 * Whether it is one is decided when it is analyzed, not when it is parsed: the statements of a script are parsed before
 * the first one runs.
 */
public final class Statement extends Command.Operation {
  private final List pieces;
  private final ParserInterface delegate;
  private final Python python;
  private final Seq output;

  /** `pieces`: the parts of the text around the parameter markers. */
  Statement(List pieces, ParserInterface delegate, Python python) {
    this(pieces, delegate, python, null);
  }

  private Statement(List pieces, ParserInterface delegate, Python python, Seq output) {
    this.pieces = pieces;
    this.delegate = delegate;
    this.python = python;
    this.output = output;
  }

  public Seq output() {
    return output;
  }

  /** Python appends the Dataset of the statement's rows to the objects. */
  public List run(SparkSession session) {
    List<Object> objects = new ArrayList<>();
    objects.add(session);
    python.ask("run", null, request(text(Scala.seq())), objects);
    return ((Dataset) objects.get(1)).collectAsList();
  }

  public String toString() {
    return text(Scala.seq());
  }

  /** The text with the values of its parameters as SQL literals. */
  private String text(Seq values) {
    StringBuilder text = new StringBuilder((String) pieces.get(0));
    for (int i = 1; i < pieces.size(); i++) {
      text.append(i <= values.size() ? ((Expression) values.apply(i - 1)).sql() : "?").append((String) pieces.get(i));
    }
    return text.toString();
  }

  private static Map request(String text) {
    Map<String, Object> request = new HashMap<>();
    request.put("text", text);
    return request;
  }

  /** The command with its columns, or Spark's plan of the text if it is not a statement of this library. */
  private LogicalPlan resolved(Seq values, Object session) {
    String text = text(values);
    JsonNode answer = python.ask("resolve", null, request(text), session);
    try {
      if (!answer.has("columns")) return CatalogNames.resolve(session, delegate.parsePlan(text));
    } catch (Exception failure) {
      Platform.throwException(failure);
    }
    List<String> whole = new ArrayList<>();
    whole.add(text);
    return new Command(new Statement(whole, delegate, python, attributes(answer.get("columns").asText())), "STATEMENT");
  }

  /** Attributes of columns as in CREATE TABLE. There may be none. */
  private static Seq attributes(String columns) {
    return columns.isEmpty() ? Scala.seq() : (Seq) DataTypeUtils.toAttributes(StructType.fromDDL(columns));
  }

  /** The analyzer rule that resolves statements. */
  public static final class Resolve extends Rule {
    private final Object session;

    public Resolve(Object session) {
      this.session = session;
    }

    public TreeNode apply(TreeNode plan) {
      LogicalPlan whole = (LogicalPlan) plan;
      return whole.containsPattern(TreePattern.COMMAND()) ? whole.resolveOperatorsUp(new Unresolved()) : plan;
    }

    /** Matches an unresolved command whose parameters are known. */
    private final class Unresolved extends AbstractPartialFunction {
      public boolean isDefinedAt(Object plan) {
        if (!(plan instanceof Command) || ((Command) plan).resolved()) return false;
        for (Object parameter : Scala.list(((Command) plan).parameters())) {
          if (!((Expression) parameter).resolved()) return false;
        }
        return true;
      }

      public Object applyOrElse(Object plan, Function1 otherwise) {
        if (!isDefinedAt(plan)) return otherwise.apply(plan);
        Command command = (Command) plan;
        return ((Statement) command.operation()).resolved(command.parameters(), session);
      }
    }
  }
}
