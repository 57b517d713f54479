package spark_client.core;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.QueryExecutionException;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.unsafe.Platform;
import scala.collection.immutable.Seq;

/**
 * Which files a scan sees, as of the moment when it was planned: those of writes that are not published yet, or were
 * published later, hold `<token>-<number>` in their names and are hidden. Every other file is visible, whoever wrote it.
 */
public final class VisibleWrites {
  /** A file that is there to be read, and to fail: what it lies beside was replaced before the scan was planned. */
  private static final String REPLACED = "_newer_rows_are_in__versions=";

  private final String prefix;
  private final long highest;
  private final Set<Long> open = new HashSet<>();

  /** {token, highest, open}; without a token, everything is visible. */
  public VisibleWrites(JsonNode writes) {
    boolean known = writes.hasNonNull("token");
    prefix = known ? writes.get("token").asText() + "-" : null;
    highest = known ? writes.get("highest").asLong() : 0;
    if (known) for (JsonNode write : writes.get("open")) open.add(write.asLong());
  }

  /** Whether a file of this name is not to be read. */
  public boolean hide(String name) {
    if (name.startsWith("_") && !name.startsWith(REPLACED)) return true; // as for every engine but Spark, where it holds a `=`
    if (prefix == null) return false;
    for (int at = name.indexOf(prefix); at >= 0; at = name.indexOf(prefix, at + 1)) {
      int start = at + prefix.length(), end = start;
      while (end < name.length() && name.charAt(end) >= '0' && name.charAt(end) <= '9') end++;
      // Longer than any number of a write: not one of ours.
      if (end == start || end - start > 18) continue;
      long number = Long.parseLong(name.substring(start, end));
      if (number > highest || open.contains(number)) return true;
    }
    return false;
  }

  /** The directories of a listing, with the visible files of each. Refuses one whose newest rows lie elsewhere. */
  public Seq of(Seq directories) {
    List<PartitionDirectory> visible = new ArrayList<>();
    for (PartitionDirectory directory : Scala.list(directories)) {
      List<FileStatusWithMetadata> files = new ArrayList<>();
      for (FileStatusWithMetadata file : Scala.list(directory.files())) {
        if (hide(file.getPath().getName())) continue;
        if (file.getPath().getName().startsWith(REPLACED)) refuse(file.getPath().getParent());
        files.add(file);
      }
      visible.add(new PartitionDirectory(directory.values(), Scala.seq(files)));
    }
    return Scala.seq(visible);
  }

  private static void refuse(Path directory) {
    Platform.throwException(new QueryExecutionException(
        directory + " was overwritten, and its newer rows lie elsewhere: read the table that wrote it by its name, or make a "
            + "table that depends on it (CREATE DEPENDENT TABLE … DEPENDS ON TABLE …)", null));
  }
}
