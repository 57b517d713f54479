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

/** The differences between versions of Spark in Java. Names that have moved are replaced by versions.py. */
public final class SparkVersions {
  /**
   * Creates an object of a case class whose parameters differ between versions.
   *
   * The arguments are those that all versions have, in their order. Any other option or boolean is empty or false.
   */
  public static Object newInstance(Class type, Object... arguments) {
    Constructor constructor = type.getConstructors()[0];
    Class[] types = constructor.getParameterTypes();
    Object[] parameters = new Object[types.length];
    int next = 0;
    for (int i = 0; i < types.length; i++) {
      Class type_ = types[i] == boolean.class ? Boolean.class : types[i];
      if (next < arguments.length && type_.isInstance(arguments[next])) parameters[i] = arguments[next++];
      else if (types[i] == boolean.class) parameters[i] = false;
      else if (types[i] == Option.class) parameters[i] = Option.empty();
    }
    if (next < arguments.length) throw new IllegalStateException(type.getName() + " has other parameters in this Spark");
    try {
      return constructor.newInstance(parameters);
    } catch (ReflectiveOperationException failure) {
      Platform.throwException(failure);
      return null;
    }
  }

  /** Whether a string type is not compared byte by byte. Spark 3.5 has no collations. */
  public static boolean isCollated(DataType type) {
    // since 4.0 {
    if (type instanceof StringType) return !((StringType) type).supportsBinaryEquality();
    // }
    return false;
  }

  /**
   * The query of an INSERT. Spark 3.5 fills omitted columns with NULL literals of type CHAR, which it cannot evaluate.
   */
  public static LogicalPlan withStringLiterals(LogicalPlan query) {
    // since 4.0 {
    if (query != null) return query;
    // }
    return (LogicalPlan) query.transformAllExpressions(new CharLiterals());
  }

  private static final class CharLiterals extends AbstractPartialFunction {
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
