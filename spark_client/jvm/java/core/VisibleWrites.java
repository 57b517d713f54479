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
 * Decides which files a scan sees: those that were published when it was planned.
 *
 * Files of writes that are not published yet, or were published later, contain `<token>-<number>` in their names and
 * are hidden. All other files are visible, regardless of their writer.
 */
public final class VisibleWrites {
  /** The prefix of a file that makes a read fail: its directory was overwritten before the scan was planned. */
  private static final String REPLACED = "_newer_rows_are_in__versions=";

  private final String prefix;
  private final long highest;
  private final Set<Long> open = new HashSet<>();

  /** `writes`: {token, highest, open}. Without a token, all files are visible. */
  public VisibleWrites(JsonNode writes) {
    boolean known = writes.hasNonNull("token");
    prefix = known ? writes.get("token").asText() + "-" : null;
    highest = known ? writes.get("highest").asLong() : 0;
    if (known) for (JsonNode write : writes.get("open")) open.add(write.asLong());
  }

  /** Whether a file with this name is not read. */
  public boolean isHidden(String name) {
    // Spark alone reads names with an underscore, if they contain `=`.
    if (name.startsWith("_") && !name.startsWith(REPLACED)) return true;
    if (prefix == null) return false;
    for (int at = name.indexOf(prefix); at >= 0; at = name.indexOf(prefix, at + 1)) {
      int start = at + prefix.length(), end = start;
      while (end < name.length() && name.charAt(end) >= '0' && name.charAt(end) <= '9') end++;
      // More digits than a write number has: not a file of this library.
      if (end == start || end - start > 18) continue;
      long number = Long.parseLong(name.substring(start, end));
      if (number > highest || open.contains(number)) return true;
    }
    return false;
  }

  /** The directories of a listing with their visible files. Rejects a directory whose newest rows are elsewhere. */
  public Seq visible(Seq directories) {
    List<PartitionDirectory> visible = new ArrayList<>();
    for (PartitionDirectory directory : Scala.list(directories)) {
      List<FileStatusWithMetadata> files = new ArrayList<>();
      for (FileStatusWithMetadata file : Scala.list(directory.files())) {
        if (isHidden(file.getPath().getName())) continue;
        if (file.getPath().getName().startsWith(REPLACED)) reject(file.getPath().getParent());
        files.add(file);
      }
      visible.add(new PartitionDirectory(directory.values(), Scala.seq(files)));
    }
    return Scala.seq(visible);
  }

  private static void reject(Path directory) {
    Platform.throwException(new QueryExecutionException(
        directory + " was overwritten, and its newer rows are in another directory: read the table that wrote it by name, or "
            + "create a dependent table (CREATE DEPENDENT TABLE … DEPENDS ON TABLE …)", null));
  }
}
