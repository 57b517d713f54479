package spark_client.core;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import scala.Tuple2;

/** Runs the Spark job of a write whose files are uploaded by PendingUploads. */
public final class UploadJob {
  private static final String PROTOCOL = "spark.sql.sources.commitProtocolClass";

  /** Whether files can be uploaded to a location so, and the executors of a session can load the classes. */
  public boolean isPossible(SparkSession session, String location) throws Exception {
    Path path = new Path(location);
    if (!Upload.isSupported(path.getFileSystem(session.sessionState().newHadoopConf()), path)) return false;
    // since 4.0 {
    // Spark finds classes for the jobs of such a session only among the jars and classes of its client.
    if (hasArtifacts(session)) return false;
    // }
    return true;
  }

  // since 4.0 {
  private static boolean hasArtifacts(SparkSession session) {
    return session.artifactManager().getAddedJars().nonEmpty()
        || session.artifactManager().classDir().toFile().exists();
  }
  // }

  /**
   * Runs the job in the session of the rows, of which no other thread may make use. The arguments are those of StagingWriter.write, and: `targets`, the entries of UploadTargets as names
   * and values; `queryId`, with which the names of the files begin; `jar`, this program's classes for the executors.
   *
   * Returns five texts for each file (UploadedFile.call), separated by NUL characters. If the job fails, its uploads are
   * aborted.
   */
  public String run(
      Dataset rows, String format, String location, String columns, String options, String targets, String queryId,
      String jar) {
    SparkContext context = rows.sparkSession().sparkContext();
    Configuration conf = rows.sparkSession().sessionState().newHadoopConf();
    addJar(context, jar);
    Map<String, String> entries = new HashMap<>();
    String[] pairs = targets.split("\0", -1);
    for (int i = 0; i + 1 < pairs.length; i += 2) entries.put(pairs[i], pairs[i + 1]);
    Broadcast shared = new JavaSparkContext(context).broadcast(entries);
    PendingUploads.Job job = new PendingUploads.Job(queryId, shared);
    Thread thread = Thread.currentThread();
    ClassLoader before = thread.getContextClassLoader();
    thread.setContextClassLoader(new WithOwnClasses(before));
    PendingUploads.begin(location, job);
    boolean succeeded = false;
    try {
      // Spark checks that it can load the class, and so gets its name here.
      rows.sparkSession().sessionState().conf().setConfString(PROTOCOL, PendingUploads.class.getName());
      StagingWriter.save(rows, format, location, columns, options);
      succeeded = true;
    } finally {
      rows.sparkSession().sessionState().conf().unsetConf(PROTOCOL);
      PendingUploads.end(location);
      thread.setContextClassLoader(before);
      if (!succeeded) job.forget();
      job.abortOthers(conf);
      shared.unpersist();
    }
    return String.join("\0", job.committed());
  }

  /**
   * Lets executors load the classes of a jar. Sessions with jars of their own have separate lists, so it is added to
   * each list.
   */
  private static synchronized void addJar(SparkContext context, String jar) {
    String name = "/" + new File(jar).getName();
    Tuple2 added = added(context, name);
    if (added == null) {
      context.addJar(copied(jar));
      added = added(context, name);
    }
    if (added == null) throw new IllegalStateException(jar + " cannot be sent to the executors");
    for (Object jars : Scala.list(context.addedJars().values())) {
      ((scala.collection.concurrent.Map) jars).putIfAbsent(added._1(), added._2());
    }
  }

  /** Copies the jar, which is deleted from the cache if it is not used for long: later executors need it, too. */
  private static String copied(String jar) {
    try {
      File folder = Files.createTempDirectory("spark_client").toFile();
      File copy = new File(folder, new File(jar).getName());
      Files.copy(new File(jar).toPath(), copy.toPath());
      folder.deleteOnExit();
      copy.deleteOnExit();
      return copy.getPath();
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }

  private static Tuple2 added(SparkContext context, String name) {
    for (Object jars : Scala.list(context.addedJars().values())) {
      for (Object each : Scala.list((scala.collection.Iterable) jars)) {
        if (((String) ((Tuple2) each)._1()).endsWith(name)) return (Tuple2) each;
      }
    }
    return null;
  }

  /** Finds the classes of this program, which Spark loads by name, besides those of another class loader. */
  private static final class WithOwnClasses extends ClassLoader {
    WithOwnClasses(ClassLoader other) {
      super(other);
    }

    protected Class findClass(String name) throws ClassNotFoundException {
      if (!name.startsWith("spark_client.")) throw new ClassNotFoundException(name);
      return UploadJob.class.getClassLoader().loadClass(name);
    }
  }
}
