package spark_client.core;

import java.lang.reflect.Field;

import org.apache.spark.unsafe.Platform;
import org.sparkproject.guava.cache.CacheLoader;

/**
 * Rejects the schemas of XML (XSD) that an option names by a path, in a driver that serves one of several users.
 *
 * Spark reads them also while it resolves names (schema_of_xml) and while it makes a plan (DataFrameReader.xml), before
 * RestrictedDriver sees the option. It reads all of them through one cache.
 */
final class NoSchemas extends CacheLoader {
  private static final String CACHE = "org.apache.spark.sql.catalyst.xml.ValidatorUtil$";

  /** Applies to all sessions of this JVM. Returns the previous reader of schemas, or null. */
  static Object enforce() {
    try {
      return replace(new NoSchemas());
    } catch (ClassNotFoundException none) {
      return null;  // this Spark does not read XML
    } catch (ReflectiveOperationException failure) {
      Platform.throwException(failure);
      return null;
    }
  }

  /** Replaces the reader of the schemas that are not in the cache. */
  static Object replace(Object reader) throws ReflectiveOperationException {
    Field cache = Class.forName(CACHE).getDeclaredField("cache");
    cache.setAccessible(true);
    Field entries = cache.get(null).getClass().getSuperclass().getDeclaredField("localCache");
    entries.setAccessible(true);
    Field loader = entries.getType().getDeclaredField("defaultLoader");
    loader.setAccessible(true);
    Object map = entries.get(cache.get(null)), before = loader.get(map);
    loader.set(map, reader);
    return before;
  }

  public Object load(Object path) {
    RestrictedDriver.reject("the option rowValidationXSDPath");
    return null;
  }
}
