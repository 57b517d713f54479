package org.apache.hadoop.hive.metastore.client;

import java.util.Collections;
import java.util.List;

import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.conf.HiveConf.ConfVars;
import org.apache.hadoop.hive.metastore.minihms.ClusterMetaStoreForTests;

/** In place of Hive's: the only metastore is the one that runs already, at the address of a system property. */
public final class MetaStoreFactoryForTests {
    private MetaStoreFactoryForTests() {}

    public static List<Object[]> getMetaStores() {
        HiveConf configuration = new HiveConf();
        configuration.setVar(ConfVars.METASTOREURIS, System.getProperty("conformance.uri"));
        configuration.setVar(ConfVars.METASTOREWAREHOUSE, System.getProperty("conformance.warehouse"));
        configuration.setIntVar(ConfVars.METASTORE_BATCH_RETRIEVE_MAX, 2);
        // The clients of the tests must not wait for a server that closed the connection.
        configuration.setIntVar(ConfVars.METASTORETHRIFTCONNECTIONRETRIES, 1);
        configuration.setIntVar(ConfVars.METASTORETHRIFTFAILURERETRIES, 0);
        return Collections.singletonList(new Object[] {"Remote", new ClusterMetaStoreForTests(configuration)});
    }
}
