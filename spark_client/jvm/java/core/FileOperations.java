package spark_client.core;

import java.io.FileNotFoundException;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.classic.SparkSession;

/**
 * Runs many operations on Hadoop's file systems in parallel.
 *
 * Remote file systems answer slowly, and a Py4J call costs as much as a rename. Arguments and results are texts
 * separated by NUL characters. An empty result means success.
 */
public final class FileOperations {
  private static final int STREAMS = 16;

  /**
   * Runs an operation of `Operation` on each pair of locations. The second location is empty if it takes only one.
   *
   * A rename with a word first makes the parents of the targets. The word is one that exists.
   */
  public String run(SparkSession session, String operation, String locations, String word) throws Exception {
    Configuration conf = session.sessionState().newHadoopConf();
    String[] pairs = locations.split("\0", -1);
    String failure = operation.equals("rename") && !word.isEmpty() ? makeParents(pairs, word, conf) : "";
    if (!failure.isEmpty()) return String.join("\0", Collections.nCopies(pairs.length / 2, failure));
    List<Operation> operations = new ArrayList<>();
    for (int i = 0; i + 1 < pairs.length; i += 2) {
      operations.add(new Operation(operation, pairs[i], pairs[i + 1], word, conf));
    }
    return String.join("\0", answers(operations));
  }

  /** Makes the parents of the targets, without `top`. Returns an error or an empty text. */
  private static String makeParents(String[] pairs, String top, Configuration conf) throws Exception {
    Set<String> parents = new LinkedHashSet<>();
    for (int i = 1; i < pairs.length; i += 2) parents.add(pairs[i].substring(0, pairs[i].lastIndexOf('/')));
    parents.remove(top);
    List<Operation> operations = new ArrayList<>();
    for (String parent : parents) operations.add(new Operation("make", parent, "", "", conf));
    Iterator<String> answers = answers(operations).iterator();
    for (String parent : parents) {
      String error = (String) answers.next();
      if (!error.isEmpty()) return "cannot make " + parent + ": " + error;
    }
    return "";
  }

  private static List answers(List operations) throws Exception {
    List<Object> answers = new ArrayList<>();
    if (operations.size() == 1) answers.add(((Operation) operations.get(0)).call());
    if (operations.size() < 2) return answers;
    ExecutorService pool = Executors.newFixedThreadPool(Math.min(STREAMS, operations.size()));
    try {
      for (Future answer : pool.invokeAll(operations)) answers.add(answer.get());
      return answers;
    } finally {
      pool.shutdown();
    }
  }

  /** Returns the files below a directory with their rows, as FileRows. */
  public String rows(SparkSession session, String directory, String format, long total) throws Exception {
    return new FileRows(session.sessionState().newHadoopConf(), STREAMS).count(directory, format, total);
  }

  private static final class Operation implements Callable {
    private final String name;
    private final Path path;
    private final String other;
    private final String word;
    private final Configuration conf;

    Operation(String name, String location, String other, String word, Configuration conf) {
      this.name = name;
      this.path = new Path(location);
      this.other = other;
      this.word = word;
      this.conf = conf;
    }

    public Object call() {
      try {
        FileSystem system = path.getFileSystem(conf);
        switch (name) {
          case "rename": return rename(system, path, new Path(other));
          case "copy": return copy(system, path, new Path(other));
          case "restore": return restore(system, path, new Path(other));
          case "find": return system.exists(path) ? "" : "it does not exist";
          case "make": return make(system, path) ? "" : "the file system rejected it";
          case "prune": return prune(system);
          case "foreign": return foreign(system);
          case "names": return names(system);
          case "folders": return folders(system);
          case "delete": return delete(system);
          case "mark": return mark(system);
          case "unmark": return unmark(system);
          case "clear": return clear(system);
          case "complete": return complete();
          case "abort": return abort();
          default: return "unknown operation " + name;
        }
      } catch (Exception failure) {
        return String.valueOf(failure).split("\n")[0];
      }
    }

    /** Creates a directory. It is retried because another writer may delete an empty parent at this moment. */
    private boolean make(FileSystem system, Path path) throws Exception {
      LocalDirectories.make(system, path, conf);
      return system.mkdirs(path) || system.mkdirs(path) || system.mkdirs(path);
    }

    /**
     * Renames a file or directory. If the target is an existing directory, the contents of the source are moved into
     * it.
     */
    private static String rename(FileSystem system, Path source, Path target) throws Exception {
      if (!system.exists(target)) {
        if (system.rename(source, target)) return "";
        return system.exists(source) ? "the file system rejected it" : "it does not exist";
      }
      return system.getFileStatus(source).isDirectory() ? merge(system, source, target, "") : target + " already exists";
    }

    private String copy(FileSystem system, Path source, Path target) throws Exception {
      boolean copied = FileUtil.copy(system, source, target.getFileSystem(conf), target, false, conf);
      return copied ? "" : "the file system rejected it";
    }

    /**
     * Moves files back. Files without the word in their names stay: other writers have added them. An empty word moves
     * all.
     */
    private String restore(FileSystem system, Path source, Path target) throws Exception {
      // It has not been moved yet or is already back. Otherwise, another client has moved it.
      if (!system.exists(source)) return system.exists(target) ? "" : source + " does not exist";
      if (!word.isEmpty() && system.getFileStatus(source).isDirectory()) return merge(system, source, target, word);
      return system.mkdirs(target.getParent()) ? rename(system, source, target) : "the file system rejected it";
    }

    private static String merge(FileSystem system, Path source, Path target, String word) throws Exception {
      system.mkdirs(target);
      for (FileStatus status : system.listStatus(source)) {
        Path child = status.getPath(), destination = new Path(target, child.getName());
        if (!status.isDirectory() && !child.getName().contains(word)) continue;
        String error = status.isDirectory() ? merge(system, child, destination, word) : rename(system, child, destination);
        if (!error.isEmpty()) return error;
      }
      if (system.listStatus(source).length == 0) system.delete(source, false);
      return "";
    }

    /** Deletes the directory if it is empty, and its empty parents up to `other`. */
    private String prune(FileSystem system) throws Exception {
      Path top = new Path(other);
      try {
        for (Path each = path; each.depth() > top.depth() && system.listStatus(each).length == 0; each = each.getParent()) {
          if (!system.delete(each, false)) break;
        }
      } catch (FileNotFoundException gone) {
        return "";
      }
      return "";
    }

    /** Deletes a file, or a directory with its contents. */
    private String delete(FileSystem system) throws Exception {
      if (system.delete(path, true) || !system.exists(path)) return "";
      return "the file system returned no error, but it still exists";
    }

    /** Returns the names of the visible files in the directory, each after a slash. */
    private String names(FileSystem system) throws Exception {
      StringBuilder names = new StringBuilder();
      try {
        for (FileStatus status : system.listStatus(path)) {
          String child = status.getPath().getName();
          if (status.isFile() && !child.startsWith("_") && !child.startsWith(".")) names.append('/').append(child);
        }
      } catch (FileNotFoundException none) {
        return "";
      }
      return names.toString();
    }

    /** Returns a slash, and the names of the subdirectories, each after a slash; "" if the directory does not exist. */
    private String folders(FileSystem system) throws Exception {
      StringBuilder names = new StringBuilder("/");
      try {
        for (FileStatus status : system.listStatus(path)) {
          if (status.isDirectory()) names.append('/').append(status.getPath().getName());
        }
      } catch (FileNotFoundException none) {
        return "";
      }
      return names.toString();
    }

    /** Creates a file whose name is `other` and the word, unless a file whose name begins with `other` exists. */
    private String mark(FileSystem system) throws Exception {
      try {
        for (FileStatus child : system.listStatus(path)) if (child.getPath().getName().startsWith(other)) return "";
      } catch (FileNotFoundException none) {
        // Creating the file creates its directory.
      }
      OutputStream mark = system.create(new Path(path, other + word), true);
      mark.write(other.getBytes("UTF-8")); // readers skip empty files
      mark.close();
      return "";
    }

    private String unmark(FileSystem system) throws Exception {
      system.delete(new Path(path, other + word), false);
      return "";
    }

    /** Makes a file visible. `other` is the handle of its upload. */
    private String complete() throws Exception {
      Upload.complete(path, other, conf);
      return "";
    }

    private String abort() throws Exception {
      Upload.abort(path, other, conf);
      return "";
    }

    /** Deletes the files in the directory whose names begin with `other`. */
    private String clear(FileSystem system) throws Exception {
      try {
        for (FileStatus child : system.listStatus(path)) {
          if (child.getPath().getName().startsWith(other)) system.delete(child.getPath(), false);
        }
      } catch (FileNotFoundException none) {
        return "";
      }
      return "";
    }

    /** Returns the name of a child that does not contain the word (an empty word: of any child). */
    private String foreign(FileSystem system) throws Exception {
      try {
        for (FileStatus status : system.listStatus(path)) {
          String child = status.getPath().getName();
          if (word.isEmpty() || !child.contains(word)) return child;
        }
      } catch (FileNotFoundException free) {
        return "";
      }
      return "";
    }
  }
}
