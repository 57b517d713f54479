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
 * A command of ours. It is the top of its plan, so that Spark runs it once and keeps its rows, whoever asks for them
 * how often: a client of Spark Connect asks anew for whatever is above a command.
 */
public final class Command extends ExternalCommandExecutor {
  private final Seq parameters;

  public Command(Work work, String name) {
    this(work, name, Map$.MODULE$.empty(), Scala.seq());
  }

  /** As Spark copies it. `parameters`: expressions that the text of a statement waits for. */
  public Command(ExternalCommandRunner work, String name, scala.collection.immutable.Map options, Seq parameters) {
    super(work, name, options);
    this.parameters = parameters;
  }

  public Work work() {
    return (Work) runner();
  }

  public Seq parameters() {
    return parameters;
  }

  public boolean resolved() {
    return work().output() != null;
  }

  public Seq output() {
    return resolved() ? work().output() : Scala.seq();
  }

  public Seq run(SparkSession session) {
    return Scala.seq(work().run(session));
  }

  /** What EXPLAIN shows below it. */
  public Seq innerChildren() {
    return Scala.seq(work().queries());
  }

  public String simpleString(int fields) {
    return command() + " " + work();
  }

  /** Spark tells by this whether a rule has changed it. */
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

  /** What a command does. */
  public abstract static class Work implements ExternalCommandRunner {
    /** Its columns; null as long as it is not known whether the statement is ours. */
    public Seq output() {
      return Scala.seq();
    }

    /** Returns its rows. */
    public abstract List run(SparkSession session);

    /** Logical plans. */
    public List queries() {
      return new ArrayList();
    }

    public final String[] executeCommand(String command, CaseInsensitiveStringMap options) {
      throw new UnsupportedOperationException(command);
    }
  }
}
