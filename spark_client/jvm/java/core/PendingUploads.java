package spark_client.core;

import java.io.File;
import java.io.Serializable;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.internal.io.FileCommitProtocol;
import org.apache.spark.storage.BlockManager;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * Writes files to an object store by multipart uploads that nobody sees until the driver completes them.
 *
 * A task writes its files to the local disk of its executor. When it commits, it uploads them and returns the handles of
 * the uploads. The driver gets the handles of one attempt of each task, so only their files can become visible: uploads
 * of other attempts, and of executors that the driver has given up, are never completed.
 *
 * Spark creates the object by the name of the class, with an id and the directory of the write. Executors get the
 * classes from a jar.
 */
public final class PendingUploads extends FileCommitProtocol implements Serializable {
  /** In the driver: the running jobs, by directory. */
  private static final Map<String, Job> JOBS = new ConcurrentHashMap<>();

  private final String jobId;
  private final String queryId;
  private final Broadcast targets;
  private final transient Job job;
  private transient File folder;
  private transient List<UploadedFile> files;

  public PendingUploads(String jobId, String directory) {
    this.jobId = jobId;
    this.job = (Job) JOBS.get(key(directory));
    this.queryId = job.queryId;
    this.targets = job.targets;
  }

  /** A job in the driver. Its files have five texts each: those of UploadedFile.call. */
  static final class Job {
    final String queryId;
    final Broadcast targets;
    private final List<String> received = new ArrayList<>();
    private final List<String> committed = new ArrayList<>();

    Job(String queryId, Broadcast targets) {
      this.queryId = queryId;
      this.targets = targets;
    }

    private synchronized void add(List<String> files, Object message) {
      for (String text : (String[]) ((FileCommitProtocol.TaskCommitMessage) message).obj()) files.add(text);
    }

    /** The files of the job, if it has succeeded. */
    synchronized List<String> committed() {
      return new ArrayList<>(committed);
    }

    /** After the job has failed, it has no files. */
    synchronized void forget() {
      committed.clear();
    }

    /** Aborts the uploads that do not belong to the files of the job. */
    void abortOthers(Configuration conf) {
      Set<String> kept = new HashSet<>(committed());
      for (int i = 0; i + 4 < received.size(); i += 5) {
        String handle = (String) received.get(i + 4);
        if (!kept.contains(handle)) Upload.abortQuietly(new Path((String) received.get(i)), handle, conf);
      }
    }
  }

  static void begin(String directory, Job job) {
    JOBS.put(key(directory), job);
  }

  static void end(String directory) {
    JOBS.remove(key(directory));
  }

  private static String key(String directory) {
    return new Path(directory).toUri().getPath();
  }

  public void setupJob(JobContext context) {}

  public void onTaskCommit(FileCommitProtocol.TaskCommitMessage message) {
    job.add(job.received, message);
  }

  /** Gets the message of one attempt of each task. The files stay invisible until the write is published. */
  public void commitJob(JobContext context, Seq messages) {
    for (Object message : Scala.list(messages)) job.add(job.committed, message);
  }

  /** Does nothing: UploadJob aborts the uploads of the tasks that have committed. */
  public void abortJob(JobContext context) {}

  public void setupTask(TaskAttemptContext context) {
    File[] disks = disks();
    String name = "uploads-" + jobId + "-" + context.getTaskAttemptID();
    folder = new File(disks[Math.floorMod(name.hashCode(), disks.length)], name);
    files = new ArrayList<>();
  }

  /**
   * The directories of the executor, which it deletes when it ends. Janino would look up all methods of SparkEnv, some of
   * which need a library that Spark does not have everywhere.
   */
  private static File[] disks() {
    try {
      MethodHandles.Lookup lookup = MethodHandles.publicLookup();
      MethodType none = MethodType.methodType(SparkEnv.class), blocks = MethodType.methodType(BlockManager.class);
      Object environment = lookup.findStatic(SparkEnv.class, "get", none).invokeWithArguments(new ArrayList<>());
      Object manager = lookup.findVirtual(SparkEnv.class, "blockManager", blocks)
          .invokeWithArguments(Arrays.asList(environment));
      return ((BlockManager) manager).diskBlockManager().localDirs();
    } catch (Throwable failure) {
      throw new IllegalStateException("the local directories of the executor are unknown", failure);
    }
  }

  public String newTaskTempFile(TaskAttemptContext context, Option directory, String ending) {
    String name = String.format("%s-%05d-%s%s", queryId, context.getTaskAttemptID().getTaskID().getId(), jobId, ending);
    String inside = directory.isDefined() ? (String) directory.get() : "";
    // A folder for each file: files of different partitions may have the same name.
    File local = new File(new File(folder, String.valueOf(files.size())), name);
    if (!local.getParentFile().mkdirs()) throw new IllegalStateException(local.getParent() + " cannot be created");
    files.add(new UploadedFile(local, inside, (Map) targets.value()));
    return local.toURI().toString();
  }

  public String newTaskTempFileAbsPath(TaskAttemptContext context, String directory, String ending) {
    throw new UnsupportedOperationException(directory);
  }

  /** Uploads the files that have rows. If this fails, Spark calls abortTask. */
  public FileCommitProtocol.TaskCommitMessage commitTask(TaskAttemptContext context) {
    List<String> answers = UploadedFile.upload(files, context.getConfiguration());
    FileUtil.fullyDelete(folder);
    return new FileCommitProtocol.TaskCommitMessage(answers.toArray(new String[0]));
  }

  public void abortTask(TaskAttemptContext context) {
    Thread.interrupted(); // a task that is killed has this flag, with which no request ends
    for (UploadedFile file : files) file.abort(context.getConfiguration());
    FileUtil.fullyDelete(folder);
  }
}
