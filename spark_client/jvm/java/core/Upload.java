package spark_client.core;

import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.MultipartUploader;
import org.apache.hadoop.fs.PartHandle;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.UploadHandle;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A multipart upload through Hadoop's MultipartUploader, by which any process may complete it. Its handle is a text: the
 * size, the id, and the parts, separated by commas.
 */
final class Upload {
  private static final Logger LOG = LoggerFactory.getLogger(Upload.class);
  private static final String CAPABILITY = "fs.capability.multipart.uploader";
  private static final long LEAST = 5L << 20; // of S3
  private static final long USUAL = 64L << 20;
  private static final int MOST_PARTS = 10000;
  private static final int TRIES = 3;

  private final Path path;
  private final UploadHandle id;

  private Upload(Path path, UploadHandle id) {
    this.path = path;
    this.id = id;
  }

  static boolean isSupported(FileSystem system, Path path) throws IOException {
    return system.hasPathCapability(path, CAPABILITY);
  }

  static Upload start(Path path, Configuration conf) throws Exception {
    MultipartUploader uploader = uploader(path, conf);
    try {
      return new Upload(path, (UploadHandle) result(uploader.startUpload(path)));
    } finally {
      uploader.close();
    }
  }

  /** Uploads the content of a local file. Returns the handle of the upload. */
  String put(File local, Configuration conf) throws Exception {
    long size = local.length();
    long part = Math.max(LEAST, Math.max(conf.getLongBytes("fs.s3a.multipart.size", USUAL), size / (MOST_PARTS - 1)));
    StringBuilder handle = new StringBuilder().append(size).append(',').append(encoded(id.toByteArray()));
    MultipartUploader uploader = uploader(path, conf);
    try {
      int number = 1;
      for (long start = 0; start < size; start += part) {
        long length = Math.min(part, size - start);
        PartHandle put = put(uploader, number++, local, start, length, start + length == size);
        handle.append(',').append(encoded(put.toByteArray()));
      }
    } finally {
      uploader.close();
    }
    return handle.toString();
  }

  /** Uploads a part. It is read again after an error, because Amazon's library cannot repeat every request itself. */
  private PartHandle put(MultipartUploader uploader, int number, File local, long start, long length, boolean isLast)
      throws Exception {
    for (int tries = 1;; tries++) {
      InputStream content = new FilePart(local, start, length);
      try {
        return (PartHandle) result(putPart(uploader, number, content, length, isLast));
      } catch (IOException failure) {
        if (tries == TRIES || Thread.currentThread().isInterrupted()) throw failure;
      } finally {
        content.close();
      }
    }
  }

  /** Hadoop 3.4.2 has added the parameter `isLast`. */
  private CompletableFuture putPart(
      MultipartUploader uploader, int number, InputStream content, long length, boolean isLast) throws Exception {
    try {
      for (Method method : MultipartUploader.class.getMethods()) {
        if (!method.getName().equals("putPart")) continue;
        Object[] arguments = method.getParameterTypes().length == 5
            ? new Object[] {id, number, path, content, length}
            : new Object[] {id, number, isLast, path, content, length};
        return (CompletableFuture) method.invoke(uploader, arguments);
      }
    } catch (InvocationTargetException failure) {
      if (failure.getCause() instanceof IOException) throw (IOException) failure.getCause();
      throw failure;
    }
    throw new IllegalStateException("this Hadoop has no putPart");
  }

  /** Makes the file visible. Succeeds if it already is: the reply of an earlier request may have been lost. */
  static void complete(Path path, String handle, Configuration conf) throws Exception {
    String[] texts = handle.split(",");
    Map<Integer, PartHandle> parts = new LinkedHashMap<>();
    for (int i = 2; i < texts.length; i++) parts.put(i - 1, new Handle(texts[i]));
    MultipartUploader uploader = uploader(path, conf);
    try {
      result(uploader.complete(new Handle(texts[1]), path, parts));
    } catch (IOException failure) {
      if (!hasSize(path, Long.parseLong(texts[0]), conf)) throw failure;
    } finally {
      uploader.close();
    }
  }

  private static boolean hasSize(Path path, long size, Configuration conf) {
    try {
      FileStatus status = path.getFileSystem(conf).getFileStatus(path);
      return status.isFile() && status.getLen() == size;
    } catch (IOException failure) {
      return false;
    }
  }

  /** Ends an upload that is not complete. */
  static void abort(Path path, String handle, Configuration conf) throws Exception {
    new Upload(path, new Handle(handle.split(",")[1])).abort(conf);
  }

  private void abort(Configuration conf) throws Exception {
    MultipartUploader uploader = uploader(path, conf);
    try {
      result(uploader.abort(id, path));
    } finally {
      uploader.close();
    }
  }

  /** Raises nothing: an upload that is left is never visible. */
  void abortQuietly(Configuration conf) {
    try {
      abort(conf);
    } catch (Exception failure) {
      LOG.warn("the upload of {} stays: {}", path, String.valueOf(failure));
    }
  }

  static void abortQuietly(Path path, String handle, Configuration conf) {
    new Upload(path, new Handle(handle.split(",")[1])).abortQuietly(conf);
  }

  /** An uploader accepts paths below its own: here, below the root of the bucket. */
  private static MultipartUploader uploader(Path path, Configuration conf) throws IOException {
    FileSystem system = path.getFileSystem(conf);
    return (MultipartUploader) system.createMultipartUploader(new Path(system.getUri().toString() + "/")).build();
  }

  private static Object result(CompletableFuture future) throws Exception {
    try {
      return future.get();
    } catch (ExecutionException failure) {
      if (failure.getCause() instanceof IOException) throw (IOException) failure.getCause();
      throw new IOException(failure.getCause());
    }
  }

  private static String encoded(byte[] bytes) {
    return Base64.getEncoder().encodeToString(bytes);
  }

  /** A handle of an upload or of a part that another process has begun. */
  private static final class Handle implements UploadHandle, PartHandle {
    private final byte[] bytes;

    Handle(String encoded) {
      bytes = Base64.getDecoder().decode(encoded);
    }

    public byte[] toByteArray() {
      return bytes;
    }

    public ByteBuffer bytes() {
      return ByteBuffer.wrap(bytes);
    }

    public boolean equals(Object other) {
      return other instanceof Handle && bytes().equals(((Handle) other).bytes());
    }

    public int hashCode() {
      return bytes().hashCode();
    }
  }

  /** A part of a local file, which a request can read again from its mark. */
  private static final class FilePart extends InputStream {
    private final FileInputStream file;
    private final long start;
    private final long length;
    private long position;
    private long mark;

    FilePart(File local, long start, long length) throws IOException {
      this.file = new FileInputStream(local);
      this.start = start;
      this.length = length;
      file.getChannel().position(start);
    }

    public int read() throws IOException {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    public int read(byte[] bytes, int offset, int most) throws IOException {
      if (position == length) return -1;
      int count = file.read(bytes, offset, (int) Math.min(most, length - position));
      if (count > 0) position += count;
      return count;
    }

    public long skip(long most) throws IOException {
      long count = Math.max(0, Math.min(most, length - position));
      position += count;
      file.getChannel().position(start + position);
      return count;
    }

    public int available() {
      return (int) Math.min(Integer.MAX_VALUE, length - position);
    }

    public boolean markSupported() {
      return true;
    }

    public void mark(int limit) {
      mark = position;
    }

    public void reset() throws IOException {
      position = mark;
      file.getChannel().position(start + position);
    }

    public void close() throws IOException {
      file.close();
    }
  }
}
