package spark_client.core;

import java.lang.reflect.Field;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

import org.apache.spark.SparkContext;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SQLConf$;
import org.apache.spark.unsafe.Platform;

/**
 * The settings of a session in a driver that serves one of several users. It rejects a setting when a client sets it,
 * on every way: SET, spark.conf.set, JDBC. So no other request of the client can set it while a statement that has
 * passed RestrictedDriver runs.
 *
 * Settings that a client makes before the first statement of the session are checked with that statement.
 */
final class SessionSettings extends HashMap {
  /** Beginnings of the names of Spark's settings that load classes, lead to other files or start programs. */
  private static final List RESERVED = Arrays.asList(
      "spark.hadoop.", "spark.connect.", "spark.sql.catalog.", "spark.sql.defaultcatalog",
      "spark.sql.execution.pyspark.python", "spark.sql.extensions", "spark.sql.extendedexplainproviders",
      "spark.sql.sources.commitprotocol", "spark.sql.sources.outputcommitter", "spark.sql.parquet.output.committer",
      "spark.sql.streaming.checkpoint");
  private static final String VARIABLE = "${";
  private static final String HINT = "its value can load classes or lead to other files; the server may set it with "
      + "--conf";
  private static final String OTHER_HINT = "it may be one of Hadoop or of a format; begin the name of an own setting "
      + "with spark. or leave out the dots; the server may set others with --conf";
  private static final String CATALOG = "spark.sql.catalog.";

  private final SparkContext context;

  private SessionSettings(SparkContext context, Map before) {
    this.context = context;
    for (Object each : before.entrySet()) put(((Map.Entry) each).getKey(), ((Map.Entry) each).getValue());
  }

  /** Protects the settings of a session. Rejects the statement if it has a setting that a client may not make. */
  static void protect(SparkSession session) {
    Map settings = session.sessionState().conf().settings();
    synchronized (settings) {  // Collections.synchronizedMap locks itself, and so do requests that set a setting
      try {
        Field map = Class.forName("java.util.Collections$SynchronizedMap").getDeclaredField("m");
        map.setAccessible(true);
        Map current = (Map) map.get(settings);
        if (current instanceof SessionSettings) return;
        map.set(settings, new SessionSettings(session.sparkContext(), current));
      } catch (ReflectiveOperationException failure) {
        Platform.throwException(failure);
      }
    }
  }

  /**
   * Rejects catalogs in the settings of a view, with which Spark analyzes the text of the view. Any client of the
   * metastore can store them, and a catalog can read any files. Forgets those that Spark has loaded.
   */
  static void checkView(SparkSession session) {
    SQLConf active = SQLConf$.MODULE$.get();
    if (active == session.sessionState().conf()) return;
    for (Object entry : Scala.map(active.getAllConfs()).entrySet()) {
      String name = (String) ((Map.Entry) entry).getKey();
      String known = session.sparkContext().conf().get(name, null);
      if (!name.startsWith(CATALOG) || ((Map.Entry) entry).getValue().equals(known)) continue;
      session.sessionState().catalogManager().reset();
      RestrictedDriver.reject("the setting " + name, HINT);
    }
  }

  /** Whether the server has configured a catalog. */
  static boolean isCatalogOfServer(SparkSession session, String name) {
    return name.equals("spark_catalog") || session.sparkContext().conf().contains(CATALOG + name);
  }

  public Object put(Object name, Object value) {
    check((String) name, (String) value);
    return super.put(name, value);
  }

  /** The server's own values are allowed: new sessions have them, those of JDBC also those of Hadoop and of Java. */
  private void check(String name, String value) {
    if (value.equals(context.conf().get(name, null))) return;
    if (value.contains(VARIABLE)) RestrictedDriver.reject("a variable in the setting " + name, "write its value");
    if (value.equals(context.hadoopConfiguration().get(name)) || value.equals(System.getProperty(name))) return;
    String hint = name.startsWith("spark.") ? HINT : OTHER_HINT;
    if (!isAllowed(name.toLowerCase(Locale.ROOT))) RestrictedDriver.reject("the setting " + name, hint);
  }

  private static boolean isAllowed(String name) {
    if (!name.startsWith("spark.")) return HadoopNames.isSetting(name);
    return !HadoopNames.startsWith(name, RESERVED) && !name.endsWith("class") && !name.endsWith("classes");
  }
}
