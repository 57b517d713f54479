package spark_client.core;

import java.io.File;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.unsafe.Platform;

/** A file that a task has written to its local disk, and its upload. */
final class UploadedFile implements Callable {
  private static final int STREAMS = 8;
  private static final int LONGEST_STOP = 60; // seconds

  private final File local;
  private final String inside;
  private final Map targets;
  private volatile Upload upload;
  private Configuration conf;

  /** `inside`: the directory that Spark names. `targets`: the locations (UploadTargets). */
  UploadedFile(File local, String inside, Map targets) {
    this.local = local;
    this.inside = inside;
    this.targets = targets;
  }

  /** Uploads the files that have rows, several at a time. Returns five texts for each (see `call`). */
  static List<String> upload(List<UploadedFile> files, Configuration conf) {
    List<String> answers = new ArrayList<>();
    if (files.isEmpty()) return answers;
    ExecutorService pool = Executors.newFixedThreadPool(Math.min(STREAMS, files.size()));
    try {
      List<Future> running = new ArrayList<>();
      for (UploadedFile file : files) {
        file.conf = conf;
        running.add(pool.submit((Callable) file));
      }
      for (Future answer : running) answers.addAll((List) answer.get());
    } catch (Exception failure) {
      Platform.throwException(failure.getCause() == null ? failure : failure.getCause());
    } finally {
      stop(pool);
    }
    return answers;
  }

  /** After a failure, no upload must begin, and each that has begun must be known to `abort`. */
  private static void stop(ExecutorService pool) {
    pool.shutdownNow();
    boolean interrupted = Thread.interrupted();
    try {
      pool.awaitTermination(LONGEST_STOP, TimeUnit.SECONDS);
    } catch (InterruptedException again) {
      interrupted = true;
    }
    if (interrupted) Thread.currentThread().interrupt();
  }

  /** Returns location, Spark's directory, bytes, rows and handle; nothing for a file without rows. */
  public Object call() throws Exception {
    List<String> answer = new ArrayList<>();
    Path path = new Path(local.toURI());
    String format = local.getName().endsWith(".orc") ? "orc" : "parquet";
    long rows = FileRows.rows(path.getFileSystem(conf).getFileStatus(path), format, conf);
    if (rows == 0) return answer;
    String location = UploadTargets.prefix(targets, inside, local.length(), rows) + local.getName();
    Upload started = Upload.start(new Path(location), conf);
    upload = started;
    String handle = started.put(local, conf);
    answer.add(location);
    answer.add(inside);
    answer.add(String.valueOf(local.length()));
    answer.add(String.valueOf(rows));
    answer.add(handle);
    return answer;
  }

  /** Aborts the upload if it has begun. Nothing is raised: an upload that is left is never visible. */
  void abort(Configuration conf) {
    if (upload != null) upload.abortQuietly(conf);
  }
}
