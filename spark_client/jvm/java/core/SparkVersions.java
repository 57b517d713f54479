package spark_client.core;

import java.lang.reflect.Constructor;

import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.unsafe.Platform;
import scala.Function1;
import scala.Option;
import scala.runtime.AbstractPartialFunction;

/** What differs between versions of Spark, but for names that have moved (see versions.py). */
public final class SparkVersions {
  /**
   * A new object of a case class that has other parameters in other versions. Given are those that all of them have, in
   * their order; what else there is are options and switches, which stay empty and off.
   */
  public static Object make(Class type, Object... given) {
    Constructor constructor = type.getConstructors()[0];
    Class[] types = constructor.getParameterTypes();
    Object[] arguments = new Object[types.length];
    int next = 0;
    for (int i = 0; i < types.length; i++) {
      boolean known = next < given.length && (types[i] == boolean.class ? Boolean.class : types[i]).isInstance(given[next]);
      if (known) arguments[i] = given[next++];
      else if (types[i] == boolean.class) arguments[i] = false;
      else if (types[i] == Option.class) arguments[i] = Option.empty();
    }
    if (next < given.length) throw new IllegalStateException(type.getName() + " takes other parameters in this Spark");
    try {
      return constructor.newInstance(arguments);
    } catch (ReflectiveOperationException failure) {
      Platform.throwException(failure);
      return null;
    }
  }

  /** Whether it is a string that is not compared byte by byte; Spark 3.5 has no collations. */
  public static boolean isCollated(DataType type) {
    // since 4.0 {
    if (type instanceof StringType) return !((StringType) type).supportsBinaryEquality();
    // }
    return false;
  }

  /** The query of an INSERT: Spark 3.5 gives columns that are left out nulls of CHAR, of which it makes no rows then. */
  public static LogicalPlan withTexts(LogicalPlan query) {
    // since 4.0 {
    if (query != null) return query;
    // }
    return (LogicalPlan) query.transformAllExpressions(new Texts());
  }

  private static final class Texts extends AbstractPartialFunction {
    public boolean isDefinedAt(Object node) {
      return node instanceof Literal;
    }

    public Object applyOrElse(Object node, Function1 otherwise) {
      if (!isDefinedAt(node)) return otherwise.apply(node);
      Literal literal = (Literal) node;
      DataType type = CharVarcharUtils.replaceCharVarcharWithString(literal.dataType());
      return type.equals(literal.dataType()) ? literal : new Literal(literal.value(), type);
    }
  }
}
