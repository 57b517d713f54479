package spark_client.core;

import java.lang.reflect.Field;

import org.apache.spark.SparkConf;
import org.apache.spark.internal.config.ConfigEntry;
import org.apache.spark.sql.internal.SQLConf$;
import org.apache.spark.unsafe.Platform;
import scala.Function1;
import scala.Option;
import scala.runtime.AbstractFunction1;

/**
 * Rejects settings with which the rules of this library do not run: Spark's second analyzer (single-pass) runs no
 * injected rules, and the optimizer excludes rules by name. Names are never paths of files.
 *
 * It replaces the functions that read the texts of the settings. So a client's value is rejected when it is set, on
 * every way, and no other request of the client can set it while a statement that has passed RestrictedDriver runs.
 */
final class FixedSettings extends AbstractFunction1 {
  private static final String ANALYZER = "spark.sql.analyzer.singlePassResolver.";
  /** Whether a name such as parquet.`path` is a path. On by default. */
  private static final String FILES = "spark.sql.runSQLOnFiles";
  private static final String[] NAMES = {
      ANALYZER + "enabled", ANALYZER + "enabledTentatively", ANALYZER + "dualRunWithLegacy",
      ANALYZER + "returnSinglePassResultInDualRun", "spark.sql.optimizer.excludedRules", FILES};

  private final String name;
  private final Function1 reader;
  private final String fixed;

  private FixedSettings(String name, Function1 reader, String fixed) {
    this.name = name;
    this.reader = reader;
    this.fixed = fixed;
  }

  /** Applies to all sessions of this JVM. `conf`: the settings of the server, which keep their values. */
  static synchronized void enforce(SparkConf conf) {
    for (String name : NAMES) {
      ConfigEntry entry = (ConfigEntry) SQLConf$.MODULE$.getConfigEntry(name);
      if (entry == null || entry.valueConverter() instanceof FixedSettings) continue;  // null: not in this Spark
      try {
        set(entry, ConfigEntry.class, "valueConverter",
            new FixedSettings(name, entry.valueConverter(), conf.get(name, null)));
        if (name.equals(FILES)) set(entry, entry.getClass(), "_defaultValue", false);
      } catch (ReflectiveOperationException failure) {
        Platform.throwException(failure);
      }
    }
  }

  private static void set(ConfigEntry entry, Class owner, String field, Object value)
      throws ReflectiveOperationException {
    Field found = owner.getDeclaredField(field);
    found.setAccessible(true);
    found.set(entry, value);
  }

  public Object apply(Object text) {
    Object value = reader.apply(text);
    boolean isOff = Boolean.FALSE.equals(value) || Option.apply("").equals(value);
    if (!isOff && !text.equals(fixed)) RestrictedDriver.reject("the setting " + name);
    return value;
  }
}
