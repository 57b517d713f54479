package spark_client.core;

import java.util.ArrayList;
import java.util.List;

import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.ExternalCommandRunner;
import org.apache.spark.sql.execution.command.ExternalCommandExecutor;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;

/**
 * A command of this library, which is always the root of its plan.
 *
 * Spark therefore runs it once and keeps its rows. For a plan above a command, every action of a Spark Connect client
 * would run the command again.
 */
public final class Command extends ExternalCommandExecutor {
  private final Seq parameters;

  public Command(Operation operation, String name) {
    this(operation, name, Map$.MODULE$.empty(), Scala.seq());
  }

  /**
   * The constructor with which Spark copies it. `parameters`: the expressions for the statement's parameter markers.
   */
  public Command(ExternalCommandRunner operation, String name, scala.collection.immutable.Map options, Seq parameters) {
    super(operation, name, options);
    this.parameters = parameters;
  }

  public Operation operation() {
    return (Operation) runner();
  }

  public Seq parameters() {
    return parameters;
  }

  public boolean resolved() {
    return operation().output() != null;
  }

  public Seq output() {
    return resolved() ? operation().output() : Scala.seq();
  }

  public Seq run(SparkSession session) {
    return Scala.seq(operation().run(session));
  }

  /** The queries that EXPLAIN shows below the command. */
  public Seq innerChildren() {
    return Scala.seq(operation().queries());
  }

  public String simpleString(int fields) {
    return command() + " " + operation();
  }

  /** Spark detects by this whether a rule has changed the plan. */
  public boolean equals(Object other) {
    return this == other
        || other instanceof Command && super.equals(other) && parameters.equals(((Command) other).parameters);
  }

  public int hashCode() {
    return super.hashCode();
  }

  public int productArity() {
    return 4;
  }

  public Object productElement(int index) {
    return index == 3 ? parameters : super.productElement(index);
  }

  public String productElementName(int index) {
    return new String[] {"runner", "command", "options", "parameters"}[index];
  }

  /** The operation of a command. */
  public abstract static class Operation implements ExternalCommandRunner {
    /** The output columns, or null while it is unknown whether the text is a statement of this library. */
    public Seq output() {
      return Scala.seq();
    }

    /** Runs the operation and returns its rows. */
    public abstract List run(SparkSession session);

    /** The logical plans of its queries. */
    public List queries() {
      return new ArrayList();
    }

    public final String[] executeCommand(String command, CaseInsensitiveStringMap options) {
      throw new UnsupportedOperationException(command);
    }
  }
}
