package spark_client.core;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.datasources.FileStatusCache;
import org.apache.spark.sql.execution.datasources.PartitionPath;
import org.apache.spark.unsafe.Platform;
import scala.Option;

/**
 * Files that lie in list-bucketed partitions themselves, beside their directories: those of the flat layout, whose names
 * say their value, and those of writers that know nothing of skew. Spark's index would list the directories below as
 * well; it takes what it finds here instead.
 */
public final class FilesOutsideSkewDirectories extends FileStatusCache {
  private final Configuration conf;
  private final Map<Path, PartitionPath> asked = new LinkedHashMap<>(); // by location
  private final Map<Path, JsonNode> pruned = new HashMap<>(); // beginnings of names that are left out
  private final Map<Path, FileStatus[]> found = new ConcurrentHashMap<>();

  public FilesOutsideSkewDirectories(Configuration conf) {
    this.conf = conf;
  }

  /** A partition's own location. */
  public void ask(Path location, PartitionPath partition, JsonNode prunedNames) {
    asked.put(location, partition);
    pruned.put(location, prunedNames);
  }

  /** Lists all that were asked for, several at a time, and adds those in which there is something to read. */
  public void list(List rootPaths, List partitionPaths) {
    new ArrayList(asked.keySet()).parallelStream().forEach(new Listing(this));
    for (Path location : asked.keySet()) {
      if (((FileStatus[]) found.get(location)).length == 0) continue;
      rootPaths.add(location);
      partitionPaths.add(asked.get(location));
    }
  }

  public Option getLeafFiles(Path path) {
    return Option.apply(found.get(path));
  }

  public void putLeafFiles(Path path, FileStatus[] files) {}

  public void invalidateAll() {}

  private void list(Path location) throws IOException {
    List<FileStatus> files = new ArrayList<>();
    try {
      for (FileStatus file : location.getFileSystem(conf).listStatus(location)) {
        if (file.isFile() && isRead(file.getPath().getName(), (JsonNode) pruned.get(location))) files.add(file);
      }
    } catch (FileNotFoundException none) {
      // A partition without files need not have a directory.
    }
    found.put(location, files.toArray(new FileStatus[0]));
  }

  private static boolean isRead(String name, JsonNode prunedNames) {
    if (name.startsWith("_") || name.startsWith(".")) return false;
    for (JsonNode prefix : prunedNames) if (name.startsWith(prefix.asText())) return false;
    return true;
  }

  private static final class Listing implements Consumer {
    private final FilesOutsideSkewDirectories files;

    Listing(FilesOutsideSkewDirectories files) {
      this.files = files;
    }

    public void accept(Object location) {
      try {
        files.list((Path) location);
      } catch (IOException unreadable) {
        Platform.throwException(unreadable);
      }
    }
  }
}
