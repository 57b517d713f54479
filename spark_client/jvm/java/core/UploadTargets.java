package spark_client.core;

import java.util.Map;

import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils;

/**
 * The locations of the files of a write, by the directories that Spark names.
 *
 * The entries of the map (upload_targets.py writes them):
 * - `directory`: the directory of the write, where new partitions are stored.
 * - `depth`: the number of partition columns.
 * - `column:N`: the beginning of the directory's name for column N, such as `ds=`.
 * - `number:N`: what precedes the names of files with number N, relative to the partition. None: "".
 * - `location:VALUES`: the location of a partition that has one.
 * - `prefix:N:VALUES`: what precedes the names of files with number N in a partition with a layout of its own.
 *
 * - `longest`: bytes. Longer files of several rows, which will be split, stay in Spark's directories.
 *
 * A map that has no `depth` leaves all files in Spark's directories.
 */
final class UploadTargets {
  private UploadTargets() {}

  /** Returns the location of a file without its name. `inside`: Spark's `ds=1/skewed_directory=3`, or "". */
  static String prefix(Map targets, String inside, long size, long rows) {
    String directory = (String) targets.get("directory");
    if (!targets.containsKey("depth") || size > longest(targets) && rows > 1) {
      return inside.isEmpty() ? directory + "/" : directory + "/" + inside + "/";
    }
    int depth = Integer.parseInt((String) targets.get("depth"));
    String[] parts = inside.isEmpty() ? new String[0] : inside.split("/");
    StringBuilder values = new StringBuilder(), path = new StringBuilder(directory);
    for (int i = 0; i < depth; i++) {
      String escaped = afterSign(parts[i]), value = ExternalCatalogUtils.unescapePathName(escaped);
      values.append(value.codePointCount(0, value.length())).append(':').append(value);
      path.append('/').append(targets.get("column:" + i)).append(escaped);
    }
    String number = parts.length > depth ? afterSign(parts[depth]) : "0";
    Object prefix = targets.get("prefix:" + number + ":" + values);
    if (prefix != null) return (String) prefix;
    Object location = targets.get("location:" + values), name = targets.get("number:" + number);
    return (location == null ? path : location) + "/" + (name == null ? "" : name);
  }

  private static long longest(Map targets) {
    Object size = targets.get("longest");
    return size == null ? Long.MAX_VALUE : Long.parseLong((String) size);
  }

  private static String afterSign(String part) {
    return part.substring(part.indexOf('=') + 1);
  }
}
