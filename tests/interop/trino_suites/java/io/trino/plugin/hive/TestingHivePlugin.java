package io.trino.plugin.hive;

import io.trino.metastore.HiveMetastore;
import io.trino.spi.Plugin;
import io.trino.spi.connector.Connector;
import io.trino.spi.connector.ConnectorContext;
import io.trino.spi.connector.ConnectorFactory;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The plugin of Trino's tests, with a remote metastore.
 *
 * <p>The tests ask for a metastore in files, unless they name another one. Here they get the one of the property
 * metastore.uri.
 */
public class TestingHivePlugin implements Plugin {
  private final Path root;
  private final Optional<HiveMetastore> metastore;

  public TestingHivePlugin(Path root) {
    this(root, Optional.empty());
  }

  public TestingHivePlugin(Path root, HiveMetastore metastore) {
    this(root, Optional.of(metastore));
  }

  public TestingHivePlugin(Path root, Optional<HiveMetastore> metastore) {
    this.root = root;
    this.metastore = metastore;
  }

  @Override
  public Iterable<ConnectorFactory> getConnectorFactories() {
    ConnectorFactory hive = new TestingHiveConnectorFactory(root, metastore);
    return List.of(metastore.isPresent() ? hive : new Remote(hive));
  }

  private record Remote(ConnectorFactory hive) implements ConnectorFactory {
    @Override
    public String getName() {
      return hive.getName();
    }

    @Override
    public Connector create(String catalog, Map<String, String> given, ConnectorContext context) {
      Map<String, String> settings = new HashMap<>(given);
      if (settings.getOrDefault("hive.metastore", "file").equals("file")) {
        settings.remove("hive.metastore.catalog.dir");
        settings.put("hive.metastore", "thrift");
        settings.put("hive.metastore.uri", System.getProperty("metastore.uri"));
      }
      return hive.create(catalog, settings, context);
    }
  }
}
