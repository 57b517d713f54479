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
 * The parser of a session: statements of this library become commands, and the session's previous parser reads all
 * other texts.
 *
 * All SQL passes through it: sql() with and without parameters, EXECUTE IMMEDIATE, Spark Connect, JDBC.
 */
public final class Parser extends SparkSqlParser {
  private static final String SPACE = "(?>\\s+|--[^\\n]*|/\\*(?s:.*?)\\*/)*+";

  private final Object session;
  private final ParserInterface delegate;
  private final Python python;
  /** Matches texts that begin, after white space and comments, with the first word of a statement of this library. */
  private final Pattern firstWords;
  private final EarlyRules earlyRules;

  Parser(Object session, ParserInterface delegate, Python python, Pattern firstWords, EarlyRules earlyRules) {
    this.session = session;
    this.delegate = delegate;
    this.python = python;
    this.firstWords = firstWords;
    this.earlyRules = earlyRules;
  }

  /** The session's previous parser, without this library's statements. */
  public ParserInterface delegate() {
    return delegate;
  }

  public LogicalPlan parsePlan(String text) {
    return plan(text, null);
  }

  // since 4.1 {
  public LogicalPlan parsePlanWithParameters(
      String text, org.apache.spark.sql.catalyst.parser.ParameterContext context) {
    return plan(text, context);
  }
  // }

  /** Spark's plan of a text, even if the text is a statement of this library. */
  public LogicalPlan parseSparkPlan(String text) throws Exception {
    return earlyRules.apply(SharedSource.marked(delegate.parsePlan(text)));
  }

  /**
   * Parses a text. `context`: the parameters that Spark 4.1 and newer substitute in the text. Older Sparks bind them
   * later.
   */
  private LogicalPlan plan(String text, Object context) {
    JsonNode read = read(text);
    if (read.has("pieces")) return command(read, values(context, read.get("markers")));
    try {
      if (!read.has("script")) return earlyRules.apply(SharedSource.marked(planned(text, context)));
      return script(SharedSource.marked(planned(read.get("script").asText(), context)), read);
    } catch (Exception failure) {
      Platform.throwException(failure);
      return null;
    }
  }

  private LogicalPlan planned(String text, Object context) throws Exception {
    // since 4.1 {
    if (context != null) {
      return delegate.parsePlanWithParameters(text, (org.apache.spark.sql.catalyst.parser.ParameterContext) context);
    }
    // }
    return delegate.parsePlan(text);
  }

  /** Parses the text of a view. */
  public LogicalPlan parseQuery(String text) {
    return earlyRules.apply(super.parseQuery(text));
  }

  /** Parses the name of a table that is not in SQL: spark.table, insertInto. */
  public Seq parseMultipartIdentifier(String text) {
    Seq name = CatalogNames.sessionCatalogName((SparkSession) session, super.parseMultipartIdentifier(text), 3);
    earlyRules.apply(new UnresolvedRelation(name, CaseInsensitiveStringMap.empty(), false));
    DroppedTables.onTableName((SparkSession) session, name);
    return name;
  }

  /** The values of the parameter markers, as far as the context has them. */
  private static List values(Object context, JsonNode markers) {
    List<Object> values = new ArrayList<>();
    // since 4.1 {
    for (int i = 0; context != null && i < markers.size(); i++) {
      JsonNode marker = (JsonNode) markers.get(i);
      values.add(marker.isNull() ? positional(context, values.size()) : named(context, marker.asText()));
    }
    // }
    return values;
  }

  // since 4.1 {
  private static Object named(Object context, String name) {
    if (context instanceof org.apache.spark.sql.catalyst.parser.NamedParameterContext) {
      Option value = ((org.apache.spark.sql.catalyst.parser.NamedParameterContext) context).params().get(name);
      return value.isDefined() ? value.get() : null;
    }
    if (!(context instanceof org.apache.spark.sql.catalyst.parser.HybridParameterContext)) return null;
    org.apache.spark.sql.catalyst.parser.HybridParameterContext both =
        (org.apache.spark.sql.catalyst.parser.HybridParameterContext) context;
    int index = Scala.list(both.paramNames()).indexOf(name);
    return index < 0 ? null : both.args().apply(index);
  }

  private static Object positional(Object context, int index) {
    if (context instanceof org.apache.spark.sql.catalyst.parser.NamedParameterContext) return null;
    scala.collection.immutable.Seq values =
        context instanceof org.apache.spark.sql.catalyst.parser.HybridParameterContext
            ? ((org.apache.spark.sql.catalyst.parser.HybridParameterContext) context).args()
            : ((org.apache.spark.sql.catalyst.parser.PositionalParameterContext) context).params();
    return index < values.size() ? values.apply(index) : null;
  }
  // }

  /**
   * Asks Python about a text: the {pieces} and {markers} of a possible statement, a {script} with its {statements}, or
   * nothing.
   */
  private JsonNode read(String text) {
    if (!firstWords.matcher(text).lookingAt()) return Python.NOTHING;
    Map<String, Object> request = new HashMap<>();
    request.put("text", new VariableSubstitution().substitute(text));
    return python.ask("read", null, request, session);
  }

  /** The command of a possible statement. `values`: the known values of its markers; Spark binds the others later. */
  private LogicalPlan command(JsonNode read, List values) {
    List<String> pieces = new ArrayList<>();
    for (JsonNode piece : read.get("pieces")) pieces.add(piece.asText());
    List<Object> parameters = new ArrayList<>();
    for (JsonNode marker : read.get("markers")) {
      int index = parameters.size();
      if (index < values.size() && values.get(index) != null) parameters.add(values.get(index));
      else parameters.add(marker.isNull() ? (Object) new PosParameter(index) : new NamedParameter(marker.asText()));
    }
    Statement statement = new Statement(pieces, delegate, python);
    return new Command(statement, "STATEMENT", Map$.MODULE$.empty(), Scala.seq(parameters));
  }

  private LogicalPlan script(LogicalPlan plan, JsonNode read) {
    return (LogicalPlan) withStatements(plan, read.get("statements"));
  }

  /** A part of a script's plan with this library's statements instead of their names. Not all parts are children. */
  private Object withStatements(Object part, JsonNode statements) {
    if (part instanceof scala.collection.immutable.Seq) {
      List<Object> parts = new ArrayList<>();
      for (Object each : Scala.list((scala.collection.immutable.Seq) part)) parts.add(withStatements(each, statements));
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
      for (int i = 0; i < parts.length; i++) parts[i] = withStatements(node.productElement(i), statements);
      return node.makeCopy(parts);
    }
    // }
    return part;
  }

  /** Makes the parser of each session, for SparkSessionExtensions. */
  public static final class Builder extends AbstractFunction2 {
    private final Python python;
    private final Pattern firstWords;

    private final List earlyRules;

    /**
     * `earlyRules`: builders of the rules that run before names are resolved, if Spark has no extension point for them.
     */
    public Builder(BiFunction python, String words, List earlyRules) {
      this.python = new Python(python);
      this.earlyRules = earlyRules;
      this.firstWords = Pattern.compile(SPACE + "(?:" + words + ")\\b", Pattern.CASE_INSENSITIVE);
    }

    public Object apply(Object session, Object delegate) {
      return new Parser(session, (ParserInterface) delegate, python, firstWords, new EarlyRules(earlyRules, session));
    }
  }
}
