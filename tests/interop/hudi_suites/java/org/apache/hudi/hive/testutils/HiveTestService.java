package org.apache.hudi.hive.testutils;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.conf.HiveConf.ConfVars;
import org.apache.hive.service.server.HiveServer2;

/**
 * The service of Hudi's tests, with a remote metastore: HiveServer2 runs in this process, as theirs does, and uses the
 * metastore of the property metastore.uri.
 */
public class HiveTestService {
  private static final String HOST = "127.0.0.1";
  private static final int PORT = freePort();
  private static final long PATIENCE = 120_000; // milliseconds

  public static final String HS2_JDBC_URL = "jdbc:hive2://" + HOST + ":" + PORT + "/";

  private final HiveConf configuration;
  private HiveServer2 server;

  public HiveTestService(Configuration given) throws IOException {
    configuration = configureHive(given, System.getProperty("java.io.tmpdir"));
  }

  public HiveConf configureHive(Configuration given, String folder) throws IOException {
    HiveConf conf = new HiveConf(given, HiveTestService.class);
    conf.setVar(ConfVars.METASTOREURIS, System.getProperty("metastore.uri"));
    conf.setVar(ConfVars.METASTOREWAREHOUSE, System.getProperty("metastore.warehouse"));
    conf.setVar(ConfVars.HIVE_SERVER2_THRIFT_BIND_HOST, HOST);
    conf.setIntVar(ConfVars.HIVE_SERVER2_THRIFT_PORT, PORT);
    conf.setVar(ConfVars.SCRATCHDIR, folder + "/scratch");
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
    return PORT;
  }

  public String getJdbcHive2Url() {
    return HS2_JDBC_URL;
  }

  private static boolean answers() throws IOException {
    try (Socket socket = new Socket()) {
      socket.connect(new InetSocketAddress(HOST, PORT), 1000);
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
