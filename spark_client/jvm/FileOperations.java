package spark_client;

import java.io.FileNotFoundException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.fs.Path;

/**
 * Many operations on Hadoop's file systems at once: file systems far away answer slowly, and each call from Python costs
 * as much as a rename. Locations are texts between NULs, as are the answers: nothing where all is well.
 */
public final class FileOperations {
  private final Configuration conf;
  private final int streams;

  public FileOperations(Configuration conf, Integer streams) {
    this.conf = conf;
    this.streams = streams.intValue();
  }

  /** `operation` is one of those of `Operation`; `places` two locations, or a location and a word, for each. */
  public String run(String operation, String places) throws Exception {
    String[] words = places.split("\0", -1);
    ExecutorService pool = Executors.newFixedThreadPool(Math.max(1, Math.min(streams, words.length / 2)));
    try {
      List operations = new ArrayList();
      for (int i = 0; i + 1 < words.length; i += 2) {
        operations.add(new Operation(operation, words[i], words[i + 1], conf));
      }
      List answers = new ArrayList();
      for (Iterator i = pool.invokeAll(operations).iterator(); i.hasNext();) answers.add(((Future) i.next()).get());
      return String.join("\0", answers);
    } finally {
      pool.shutdown();
    }
  }

  private static final class Operation implements Callable {
    private final String name;
    private final Path path;
    private final String word;
    private final Configuration conf;

    Operation(String name, String location, String word, Configuration conf) {
      this.name = name;
      this.path = new Path(location);
      this.word = word;
      this.conf = conf;
    }

    public Object call() {
      try {
        FileSystem system = path.getFileSystem(conf);
        if (name.equals("rename")) return rename(system, path, new Path(word));
        if (name.equals("copy")) return copy(system, path, new Path(word));
        if (name.equals("restore")) return system.exists(path) ? restore(system, path, new Path(word)) : "";
        if (name.equals("find")) return system.exists(path) ? "" : "it is not there any more";
        if (name.equals("make")) return make(system, path) ? "" : "the file system refused";
        if (name.equals("prune")) return prune(system);
        if (name.equals("foreign")) return foreign(system);
        return "there is no operation " + name;
      } catch (Exception failure) {
        return String.valueOf(failure).split("\n")[0];
      }
    }

    /** Another writer may take away what had become empty above it at this moment. */
    private static boolean make(FileSystem system, Path path) throws Exception {
      return system.mkdirs(path) || system.mkdirs(path) || system.mkdirs(path);
    }

    private static String rename(FileSystem system, Path source, Path target) throws Exception {
      if (system.rename(source, target)) return "";
      return system.exists(source) ? "the file system refused" : "it is not there any more";
    }

    private String copy(FileSystem system, Path source, Path target) throws Exception {
      return FileUtil.copy(system, source, target.getFileSystem(conf), target, false, conf) ? "" : "the file system refused";
    }

    /** Whatever came into a directory meanwhile stays in it. */
    private static String restore(FileSystem system, Path source, Path target) throws Exception {
      if (!system.exists(target)) return system.mkdirs(target.getParent()) ? rename(system, source, target) : "refused";
      if (!system.getFileStatus(source).isDirectory()) return target + " is in the way";
      FileStatus[] children = system.listStatus(source);
      for (int i = 0; i < children.length; i++) {
        Path child = children[i].getPath();
        String error = restore(system, child, new Path(target, child.getName()));
        if (!error.isEmpty()) return error;
      }
      return system.delete(source, false) ? "" : source + " is not empty";
    }

    /** Deletes a directory in which nothing is, and those above it, up to the one that is named. */
    private String prune(FileSystem system) throws Exception {
      Path top = new Path(word);
      try {
        for (Path each = path; each.depth() > top.depth() && system.listStatus(each).length == 0; each = each.getParent()) {
          if (!system.delete(each, false)) break;
        }
      } catch (FileNotFoundException gone) {
        return "";
      }
      return "";
    }

    /** A child of the directory whose name does not hold the word; without a word, any. */
    private String foreign(FileSystem system) throws Exception {
      try {
        FileStatus[] children = system.listStatus(path);
        for (int i = 0; i < children.length; i++) {
          String child = children[i].getPath().getName();
          if (word.isEmpty() || child.indexOf(word) < 0) return child;
        }
      } catch (FileNotFoundException free) {
        return "";
      }
      return "";
    }
  }
}
