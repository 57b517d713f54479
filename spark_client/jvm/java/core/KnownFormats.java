package spark_client.core;

import java.lang.reflect.Modifier;
import java.sql.Driver;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Stream;

import org.apache.hadoop.hive.ql.metadata.HiveStorageHandler;
import org.apache.hadoop.hive.serde2.Deserializer;
import org.apache.spark.sql.sources.DataSourceRegister;

/**
 * The context class loader of a driver that serves one of several users. Through it, Spark and Hive load the classes
 * that tables, partitions and settings name.
 *
 * It loads formats only if they read and write the files of the table: others follow the paths in a file, such as
 * SymlinkTextInputFormat, or run the SQL of a database, such as DBInputFormat. It loads no JDBC driver: a database in
 * this JVM runs code of its users.
 */
public final class KnownFormats extends ClassLoader {
  private static final String HADOOP = "org.apache.hadoop.";
  private static final String HIVE = "org.apache.hadoop.hive.";
  private static final List KINDS = Arrays.asList(
      org.apache.hadoop.mapred.InputFormat.class, org.apache.hadoop.mapreduce.InputFormat.class,
      org.apache.hadoop.mapred.OutputFormat.class, org.apache.hadoop.mapreduce.OutputFormat.class, Deserializer.class,
      Driver.class);
  /** Methods that make an object of the class that a property of a table names, before they look at its kind. */
  private static final String SPARK_SOURCES = "org.apache.spark.sql.execution.datasources.DataSource$.";
  private static final String STORAGE_HANDLERS = HIVE + "ql.metadata.HiveUtils.getStorageHandler";
  private static final Function CALLER = new Caller();
  /** The formats of Spark itself, and of the libraries with which it reads and writes files. */
  private static final List PACKAGES = Arrays.asList("org.apache.spark.", "org.apache.parquet.", "org.apache.orc.");
  private static final Set NAMES = new HashSet(Arrays.asList(
      HADOOP + "mapred.TextInputFormat", HADOOP + "mapred.SequenceFileInputFormat",
      HADOOP + "mapred.TextOutputFormat", HADOOP + "mapred.SequenceFileOutputFormat",
      HADOOP + "mapreduce.lib.output.FileOutputFormat", HADOOP + "mapreduce.lib.output.TextOutputFormat",
      HADOOP + "mapreduce.lib.output.SequenceFileOutputFormat",
      HIVE + "ql.io.HiveIgnoreKeyTextOutputFormat", HIVE + "ql.io.IgnoreKeyTextOutputFormat",
      HIVE + "ql.io.HiveSequenceFileOutputFormat", HIVE + "ql.io.HiveNullValueSequenceFileOutputFormat",
      HIVE + "ql.io.RCFileInputFormat", HIVE + "ql.io.RCFileOutputFormat",
      HIVE + "ql.io.orc.OrcInputFormat", HIVE + "ql.io.orc.OrcOutputFormat", HIVE + "ql.io.orc.OrcSerde",
      HIVE + "ql.io.parquet.MapredParquetInputFormat", HIVE + "ql.io.parquet.MapredParquetOutputFormat",
      HIVE + "ql.io.parquet.serde.ParquetHiveSerDe",
      HIVE + "ql.io.avro.AvroContainerInputFormat", HIVE + "ql.io.avro.AvroContainerOutputFormat",
      HIVE + "serde2.avro.AvroSerDe", HIVE + "serde2.lazy.LazySimpleSerDe", HIVE + "serde2.lazybinary.LazyBinarySerDe",
      HIVE + "serde2.binarysortable.BinarySortableSerDe", HIVE + "serde2.columnar.ColumnarSerDe",
      HIVE + "serde2.columnar.LazyBinaryColumnarSerDe", HIVE + "serde2.MetadataTypedColumnsetSerDe",
      HIVE + "serde2.MultiDelimitSerDe", HIVE + "serde2.OpenCSVSerde", HIVE + "serde2.RegexSerDe",
      HIVE + "serde2.JsonSerDe", "org.apache.hive.hcatalog.data.JsonSerDe"));

  public KnownFormats(ClassLoader parent) {
    super(parent);
  }

  protected Class loadClass(String name, boolean resolve) throws ClassNotFoundException {
    Class loaded = super.loadClass(name, resolve);
    if (isFormat(loaded) && !isKnown(name) || !isExpected(loaded, (String) StackWalker.getInstance().walk(CALLER))) {
      throw new ClassNotFoundException(
          name + " is not available on a server for several users: use a format that reads only the files of its table");
    }
    return loaded;
  }

  /** Whether a caller that makes an object of any class gets one of the kind that it expects. */
  private static boolean isExpected(Class loaded, String caller) {
    if (caller.startsWith(SPARK_SOURCES)) return DataSourceRegister.class.isAssignableFrom(loaded);
    return !STORAGE_HANDLERS.equals(caller) || HiveStorageHandler.class.isAssignableFrom(loaded);
  }

  /** Finds the method that asks for a class. Other class loaders pass its request on. */
  private static final class Caller implements Function {
    public Object apply(Object frames) {
      for (Iterator each = ((Stream) frames).iterator(); each.hasNext();) {
        StackWalker.StackFrame frame = (StackWalker.StackFrame) each.next();
        String name = frame.getClassName();
        if (name.startsWith("java.") || name.startsWith(KnownFormats.class.getName())) continue;
        if (!frame.getMethodName().equals("loadClass")) return name + "." + frame.getMethodName();
      }
      return "";
    }
  }

  private static boolean isFormat(Class loaded) {
    if (Modifier.isAbstract(loaded.getModifiers())) return false;
    for (Object kind : KINDS) if (((Class) kind).isAssignableFrom(loaded)) return true;
    return false;
  }

  private static boolean isKnown(String name) {
    if (NAMES.contains(name)) return true;
    for (Object each : PACKAGES) if (name.startsWith((String) each)) return true;
    return false;
  }
}
