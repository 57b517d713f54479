package org.apache.hadoop.hive.metastore;

import org.apache.hadoop.hive.metastore.conf.MetastoreConf;
import org.apache.hadoop.hive.metastore.conf.MetastoreConf.ConfVars;
import org.junit.Before;

/** In place of Hive's TestRemoteHiveMetaStore, which starts a server: the same tests of the one that runs already. */
public class TestRunningHiveMetaStore extends TestHiveMetaStore {
    @Override
    @Before
    public void setUp() throws Exception {
        super.setUp();
        isThriftClient = true;
        MetastoreConf.setVar(conf, ConfVars.THRIFT_URIS, System.getProperty("conformance.uri"));
        MetastoreConf.setVar(conf, ConfVars.WAREHOUSE, System.getProperty("conformance.warehouse"));
        warehouse = new Warehouse(conf);
        client = createClient();
    }

    @Override
    protected HiveMetaStoreClient createClient() throws Exception {
        return new HiveMetaStoreClient(conf);
    }
}
