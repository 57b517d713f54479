package spark_client.core;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.regex.Pattern;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.spark.sql.catalyst.analysis.NamedParameter;
import org.apache.spark.sql.catalyst.analysis.PosParameter;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.ShowTables;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.SparkSqlParser;
import org.apache.spark.sql.internal.VariableSubstitution;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.unsafe.Platform;
import scala.Option;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction2;

/**
 * The parser of a session: our statements become commands, all else goes to the parser that was there before. All SQL
 * passes here, whatever its door: sql() with parameters or without, EXECUTE IMMEDIATE, Spark Connect, JDBC.
 */
public final class Parser extends SparkSqlParser {
  private static final String SPACE = "(?>\\s+|--[^\\n]*|/\\*(?s:.*?)\\*/)*+";

  private final Object session;
  private final ParserInterface delegate;
  private final Python python;
  /** Behind white space and comments, a word with which a statement of ours may begin. Others are not looked at. */
  private final Pattern look;
  private final EarlyRules first;

  Parser(Object session, ParserInterface delegate, Python python, Pattern look, EarlyRules first) {
    this.session = session;
    this.delegate = delegate;
    this.python = python;
    this.look = look;
    this.first = first;
  }

  /** The parser that was there before: it does not know our statements. */
  public ParserInterface delegate() {
    return delegate;
  }

  public LogicalPlan parsePlan(String text) {
    return plan(text, null);
  }

  // since 4.1 {
  public LogicalPlan parsePlanWithParameters(
      String text, org.apache.spark.sql.catalyst.parser.ParameterContext given) {
    return plan(text, given);
  }
  // }

  /** Spark's plan of a statement, even if it is one of ours. */
  public LogicalPlan sparks(String text) throws Exception {
    return first.of(delegate.parsePlan(text));
  }

  /** `given`: what Spark 4.1 and newer put into a text; others bind it afterwards. */
  private LogicalPlan plan(String text, Object given) {
    JsonNode read = read(text);
    if (read.has("pieces")) return command(read, values(given, read.get("markers")));
    try {
      if (!read.has("script")) return first.of(planned(text, given));
      return script(planned(read.get("script").asText(), given), read);
    } catch (Exception failure) {
      Platform.throwException(failure);
      return null;
    }
  }

  private LogicalPlan planned(String text, Object given) throws Exception {
    // since 4.1 {
    if (given != null) {
      return delegate.parsePlanWithParameters(text, (org.apache.spark.sql.catalyst.parser.ParameterContext) given);
    }
    // }
    return delegate.parsePlan(text);
  }

  /** Of a view. */
  public LogicalPlan parseQuery(String text) {
    return first.of(super.parseQuery(text));
  }

  /** Of a table that is asked for by its name: spark.table, insertInto. */
  public Seq parseMultipartIdentifier(String text) {
    Seq name = CatalogNames.own((SparkSession) session, super.parseMultipartIdentifier(text), 3);
    first.of(new UnresolvedRelation(name, CaseInsensitiveStringMap.empty(), false));
    DroppedTables.nameIsRead((SparkSession) session, name);
    return name;
  }

  /** The values of markers, as far as they have come with the text. */
  private static List values(Object given, JsonNode markers) {
    List<Object> values = new ArrayList<>();
    // since 4.1 {
    for (int i = 0; given != null && i < markers.size(); i++) {
      JsonNode marker = (JsonNode) markers.get(i);
      values.add(marker.isNull() ? positional(given, values.size()) : named(given, marker.asText()));
    }
    // }
    return values;
  }

  // since 4.1 {
  private static Object named(Object given, String name) {
    if (given instanceof org.apache.spark.sql.catalyst.parser.NamedParameterContext) {
      Option value = ((org.apache.spark.sql.catalyst.parser.NamedParameterContext) given).params().get(name);
      return value.isDefined() ? value.get() : null;
    }
    if (!(given instanceof org.apache.spark.sql.catalyst.parser.HybridParameterContext)) return null;
    org.apache.spark.sql.catalyst.parser.HybridParameterContext both =
        (org.apache.spark.sql.catalyst.parser.HybridParameterContext) given;
    int index = Scala.list(both.paramNames()).indexOf(name);
    return index < 0 ? null : both.args().apply(index);
  }

  private static Object positional(Object given, int index) {
    if (given instanceof org.apache.spark.sql.catalyst.parser.NamedParameterContext) return null;
    scala.collection.immutable.Seq values =
        given instanceof org.apache.spark.sql.catalyst.parser.HybridParameterContext
            ? ((org.apache.spark.sql.catalyst.parser.HybridParameterContext) given).args()
            : ((org.apache.spark.sql.catalyst.parser.PositionalParameterContext) given).params();
    return index < values.size() ? values.apply(index) : null;
  }
  // }

  /**
   * What Python makes of a text: the {pieces} of what may be a statement of ours, between its {markers} of parameters;
   * a {script} with names for the {statements} of ours in it; or nothing.
   */
  private JsonNode read(String text) {
    if (!look.matcher(text).lookingAt()) return Python.NOTHING;
    Map<String, Object> request = new HashMap<>();
    request.put("text", new VariableSubstitution().substitute(text));
    return python.ask("read", null, request, session);
  }

  /** `given`: values of markers, as far as they are known; Spark binds the others later. */
  private LogicalPlan command(JsonNode read, List given) {
    List<String> pieces = new ArrayList<>();
    for (JsonNode piece : read.get("pieces")) pieces.add(piece.asText());
    List<Object> parameters = new ArrayList<>();
    for (JsonNode marker : read.get("markers")) {
      int index = parameters.size();
      if (index < given.size() && given.get(index) != null) parameters.add(given.get(index));
      else parameters.add(marker.isNull() ? (Object) new PosParameter(index) : new NamedParameter(marker.asText()));
    }
    Statement statement = new Statement(pieces, delegate, python);
    return new Command(statement, "STATEMENT", Map$.MODULE$.empty(), Scala.seq(parameters));
  }

  private LogicalPlan script(LogicalPlan plan, JsonNode read) {
    return (LogicalPlan) replaced(plan, read.get("statements"));
  }

  /** A part of a script with our statements instead of their names; what children its nodes show is not all of them. */
  private Object replaced(Object part, JsonNode statements) {
    if (part instanceof scala.collection.immutable.Seq) {
      List<Object> parts = new ArrayList<>();
      for (Object each : Scala.list((scala.collection.immutable.Seq) part)) parts.add(replaced(each, statements));
      return Scala.seq(parts);
    }
    if (part instanceof ShowTables) {
      Option pattern = ((ShowTables) part).pattern();
      JsonNode known = pattern.isDefined() ? statements.get((String) pattern.get()) : null;
      return known == null ? part : command(known, new ArrayList<>());
    }
    // since 4.0 {
    if (part instanceof org.apache.spark.sql.catalyst.plans.logical.CompoundPlanStatement) {
      LogicalPlan node = (LogicalPlan) part;
      Object[] parts = new Object[node.productArity()];
      for (int i = 0; i < parts.length; i++) parts[i] = replaced(node.productElement(i), statements);
      return node.makeCopy(parts);
    }
    // }
    return part;
  }

  /** What SparkSessionExtensions is given: it makes the parser of each session. */
  public static final class Builder extends AbstractFunction2 {
    private final Python python;
    private final Pattern look;

    private final List first;

    /** `first`: builders of the rules that come before names are looked up, where Spark has no place for them. */
    public Builder(BiFunction python, String firstWords, List first) {
      this.python = new Python(python);
      this.first = first;
      this.look = Pattern.compile(SPACE + "(?:" + firstWords + ")\\b", Pattern.CASE_INSENSITIVE);
    }

    public Object apply(Object session, Object delegate) {
      return new Parser(session, (ParserInterface) delegate, python, look, new EarlyRules(first, session));
    }
  }
}
