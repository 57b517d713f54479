package org.apache.hadoop.hive.metastore.client;

import java.util.Collections;
import java.util.List;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.metastore.conf.MetastoreConf;
import org.apache.hadoop.hive.metastore.conf.MetastoreConf.ConfVars;
import org.apache.hadoop.hive.metastore.minihms.ClusterMetaStoreForTests;

/** In place of Hive's: the only metastore is the one that runs already, at the address of a system property. */
public final class MetaStoreFactoryForTests {
    private MetaStoreFactoryForTests() {}

    public static List<Object[]> getMetaStores() {
        Configuration configuration = MetastoreConf.newMetastoreConf();
        MetastoreConf.setVar(configuration, ConfVars.THRIFT_URIS, System.getProperty("conformance.uri"));
        MetastoreConf.setVar(configuration, ConfVars.WAREHOUSE, System.getProperty("conformance.warehouse"));
        // Hive 3 does not know this one.
        configuration.set("metastore.warehouse.external.dir", System.getProperty("conformance.warehouse"));
        MetastoreConf.setLongVar(configuration, ConfVars.BATCH_RETRIEVE_MAX, 2);
        MetastoreConf.setLongVar(configuration, ConfVars.BATCH_RETRIEVE_OBJECTS_MAX, 2);
        // The clients of the tests must not wait for a server that closed the connection.
        MetastoreConf.setLongVar(configuration, ConfVars.THRIFT_CONNECTION_RETRIES, 1);
        MetastoreConf.setLongVar(configuration, ConfVars.THRIFT_FAILURE_RETRIES, 0);
        return Collections.singletonList(new Object[] {"Remote", new ClusterMetaStoreForTests(configuration)});
    }
}
