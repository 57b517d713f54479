package org.apache.hudi.hive.testutils;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.conf.HiveConf.ConfVars;
import org.apache.hive.service.server.HiveServer2;

/**
 * The service of Hudi's tests, with a remote metastore: HiveServer2 runs in this process, as theirs does. The property
 * metastore.uris has a metastore for each service that a test runs at the same time, and metastore.warehouses their
 * warehouses. The addresses of the HDFS cluster are added to the file of the property hdfs.addresses.
 */
public class HiveTestService {
  private static final String HOST = "127.0.0.1";
  private static final String[] METASTORES = System.getProperty("metastore.uris").split(",");
  private static final String[] WAREHOUSES = System.getProperty("metastore.warehouses").split(",");
  private static final int[] PORTS = Stream.of(METASTORES).mapToInt(any -> freePort()).toArray();
  private static final AtomicInteger CREATED = new AtomicInteger();
  private static final long PATIENCE = 120_000; // milliseconds

  public static final String HS2_JDBC_URL = "jdbc:hive2://" + HOST + ":" + PORTS[0] + "/";

  private final int index = CREATED.getAndIncrement() % METASTORES.length;
  private final HiveConf configuration;
  private HiveServer2 server;

  public HiveTestService(Configuration given) throws IOException {
    String cluster = given.get("fs.defaultFS").replace("hdfs://", "");
    Files.writeString(
        Path.of(System.getProperty("hdfs.addresses")),
        cluster + " " + given.get("dfs.namenode.http-address") + "\n",
        StandardOpenOption.CREATE,
        StandardOpenOption.APPEND);
    configuration = configureHive(given, System.getProperty("java.io.tmpdir"));
  }

  public HiveConf configureHive(Configuration given, String folder) throws IOException {
    HiveConf conf = new HiveConf(given, HiveTestService.class);
    conf.setVar(ConfVars.METASTOREURIS, METASTORES[index]);
    conf.setVar(ConfVars.METASTOREWAREHOUSE, WAREHOUSES[index]);
    conf.setVar(ConfVars.HIVE_SERVER2_THRIFT_BIND_HOST, HOST);
    conf.setIntVar(ConfVars.HIVE_SERVER2_THRIFT_PORT, PORTS[index]);
    conf.setVar(ConfVars.SCRATCHDIR, folder + "/scratch" + index);
    conf.setIntVar(ConfVars.HIVE_SERVER2_WEBUI_PORT, 0); // it needs another Jetty than Hadoop
    conf.setBoolVar(ConfVars.HIVE_SUPPORT_CONCURRENCY, false);
    conf.setBoolVar(ConfVars.HIVESTATSAUTOGATHER, false);
    return conf;
  }

  public HiveServer2 start() throws IOException {
    server = new HiveServer2();
    server.init(configuration);
    server.start();
    long until = System.currentTimeMillis() + PATIENCE;
    while (!answers()) {
      if (System.currentTimeMillis() > until) {
        throw new IOException("HiveServer2 does not start: see the log");
      }
    }
    return server;
  }

  public void stop() {
    if (server != null) {
      server.stop();
      server = null;
    }
  }

  public HiveServer2 getHiveServer() {
    return server;
  }

  public HiveConf getHiveConf() {
    return configuration;
  }

  public int getHiveServerPort() {
    return PORTS[index];
  }

  public String getJdbcHive2Url() {
    return "jdbc:hive2://" + HOST + ":" + PORTS[index] + "/";
  }

  private boolean answers() throws IOException {
    try (Socket socket = new Socket()) {
      socket.connect(new InetSocketAddress(HOST, PORTS[index]), 1000);
      return true;
    } catch (SocketException error) {
      return pause();
    }
  }

  private static boolean pause() throws IOException {
    try {
      Thread.sleep(200);
      return false;
    } catch (InterruptedException error) {
      throw new IOException(error);
    }
  }

  private static int freePort() {
    try (ServerSocket socket = new ServerSocket(0)) {
      return socket.getLocalPort();
    } catch (IOException error) {
      throw new IllegalStateException(error);
    }
  }
}
