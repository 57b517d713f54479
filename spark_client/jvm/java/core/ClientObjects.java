package spark_client.core;

import java.io.ObjectInputFilter;
import java.util.function.BinaryOperator;

/**
 * Rejects Java objects that clients of Spark Connect send, such as functions in Scala, in a driver that serves one of
 * several users. Deserialization runs code, and Spark Connect deserializes before it makes a plan.
 *
 * Java calls it for each stream of objects (ObjectInputFilter.Config.setSerialFilterFactory). Spark's own streams stay
 * as they are.
 */
public final class ClientObjects implements BinaryOperator, ObjectInputFilter {
  private static final String CONNECT = "org.apache.spark.sql.connect.";

  /** Returns the filter of a stream. `current`: its filter so far. `next`: the filter that is set. Each may be null. */
  public Object apply(Object current, Object next) {
    if (current == this || isReadByConnect(new Throwable().getStackTrace())) return this;
    return next == null ? current : next;
  }

  public ObjectInputFilter.Status checkInput(ObjectInputFilter.FilterInfo info) {
    return ObjectInputFilter.Status.REJECTED;
  }

  /** Whether Spark Connect itself calls the functions of Java and Spark that read a stream. `frames`: innermost first. */
  public static boolean isReadByConnect(StackTraceElement[] frames) {
    for (int i = 0; i < frames.length; i++) {
      String name = frames[i].getClassName();
      boolean isReader = name.startsWith("java.") || name.startsWith("org.apache.spark.util.")
          || name.startsWith("org.apache.spark.serializer.") || name.equals(ClientObjects.class.getName());
      if (!isReader) return name.startsWith(CONNECT);
    }
    return false;
  }
}
