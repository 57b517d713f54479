package spark_client.core;

import java.util.Properties;

/**
 * The system properties of a driver that serves one of several users. Hive's session of a JDBC client sets any property
 * that the client names (`set:system:name`), and new configurations of Hive and Spark read their settings from there.
 */
public final class SystemProperties extends Properties {
  private static final String HIVE_SERVER = "org.apache.hive.service.";

  public SystemProperties(Properties known) {
    putAll(known);
  }

  public synchronized Object setProperty(String name, String value) {
    if (isSetByClient(new Throwable().getStackTrace())) {
      throw new SecurityException("system properties are not available on a server for several users");
    }
    return super.setProperty(name, value);
  }

  /** Whether Hive's server itself calls setProperty. `frames`: innermost first. */
  private static boolean isSetByClient(StackTraceElement[] frames) {
    return frames.length > 1 && frames[1].getClassName().startsWith(HIVE_SERVER);
  }
}
