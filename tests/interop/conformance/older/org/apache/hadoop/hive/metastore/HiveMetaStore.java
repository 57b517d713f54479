package org.apache.hadoop.hive.metastore;

import java.io.IOException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;

import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.thrift.HadoopThriftAuthBridge;

/** In place of Hive's, where tests start a server themselves: the one that runs already answers at that port, too. */
public class HiveMetaStore {
    private HiveMetaStore() {}

    public static void startMetaStore(int port, HadoopThriftAuthBridge bridge) throws IOException {
        startMetaStore(port, bridge, null);
    }

    public static void startMetaStore(int port, HadoopThriftAuthBridge bridge, HiveConf conf) throws IOException {
        Relay.serve(port);
    }

    public static void startMetaStore(
            int port, HadoopThriftAuthBridge bridge, HiveConf conf, Lock lock, Condition condition, AtomicBoolean started)
            throws IOException {
        startMetaStore(port, bridge, conf);
    }
}
