package io.trino.testing.containers;

import com.google.common.net.HostAndPort;
import java.net.URI;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.thrift.TException;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.protocol.TField;
import org.apache.thrift.protocol.TMessage;
import org.apache.thrift.protocol.TMessageType;
import org.apache.thrift.protocol.TProtocol;
import org.apache.thrift.protocol.TProtocolUtil;
import org.apache.thrift.protocol.TStruct;
import org.apache.thrift.protocol.TType;
import org.apache.thrift.transport.TSocket;
import org.testcontainers.containers.Network;
import org.testcontainers.containers.output.OutputFrame;

/**
 * A container of Trino's tests that is not started: its ports lead to servers that run already.
 *
 * <p>The metastore is the one of the property metastore.uri; MinIO is the S3 server of the property s3.uri. Programs of
 * the containers, such as Hive's beeline, do not exist. A catalog that a test inserts into the metastore's database is
 * created by a call.
 */
public abstract class BaseTestContainer implements AutoCloseable {
  private static final Map<Integer, String> SERVERS = Map.of(9083, "metastore.uri", 4566, "s3.uri", 4567, "s3.uri");

  private static final Pattern CATALOG =
      Pattern.compile("INSERT INTO CTLGS VALUES \\(\\d+, '([^']*)', '([^']*)', '([^']*)'\\)");

  protected BaseTestContainer(
      String image,
      String host,
      Set<Integer> ports,
      Map<String, String> files,
      Map<String, String> variables,
      Optional<Network> network,
      int retries) {}

  protected void setupContainer() {}

  protected void withRunCommand(List<String> command) {}

  protected void withLogConsumer(Consumer<OutputFrame> consumer) {}

  protected void copyResourceToContainer(String resource, String path) {}

  protected void mountDirectory(String host, String container) {}

  protected HostAndPort getMappedHostAndPortForExposedPort(int port) {
    URI uri = URI.create(System.getProperty(SERVERS.get(port)));
    return HostAndPort.fromParts(uri.getHost(), uri.getPort());
  }

  public void start() {}

  public void stop() {}

  public String executeInContainerFailOnError(String... command) {
    Matcher catalog = CATALOG.matcher(command[command.length - 1]);
    if (!catalog.matches()) {
      throw new UnsupportedOperationException("needs a program of the container: " + Arrays.toString(command));
    }
    try {
      createCatalog(catalog.group(1), catalog.group(2), catalog.group(3));
    } catch (TException error) {
      throw new IllegalStateException(error);
    }
    return "";
  }

  /** Calls create_catalog, which Trino's own client does not have. */
  private void createCatalog(String... fields) throws TException {
    HostAndPort address = getMappedHostAndPortForExposedPort(9083);
    try (TSocket socket = new TSocket(address.getHost(), address.getPort())) {
      socket.open();
      TProtocol protocol = new TBinaryProtocol(socket);
      protocol.writeMessageBegin(new TMessage("create_catalog", TMessageType.CALL, 0));
      beginStruct(protocol, "arguments", "request");
      beginStruct(protocol, "CreateCatalogRequest", "catalog");
      protocol.writeStructBegin(new TStruct("Catalog"));
      for (short number = 1; number <= fields.length; number++) {
        protocol.writeFieldBegin(new TField("", TType.STRING, number));
        protocol.writeString(fields[number - 1]);
      }
      for (int level = 0; level < 3; level++) {
        protocol.writeFieldStop();
      }
      socket.flush();
      protocol.readMessageBegin();
      TProtocolUtil.skip(protocol, TType.STRUCT);
    }
  }

  private static void beginStruct(TProtocol protocol, String name, String field) throws TException {
    protocol.writeStructBegin(new TStruct(name));
    protocol.writeFieldBegin(new TField(field, TType.STRUCT, (short) 1));
  }

  @Override
  public void close() {}

  public boolean isPresent() {
    return true;
  }

  /** Collects what the constructor ignores. */
  public abstract static class Builder<SELF extends Builder<SELF, BUILD>, BUILD extends BaseTestContainer> {
    protected String image;
    protected String hostName;
    protected Set<Integer> exposePorts = Set.of();
    protected Map<String, String> filesToMount = Map.of();
    protected Map<String, String> envVars = Map.of();
    protected Optional<Network> network = Optional.empty();
    protected int startupRetryLimit = 1;

    @SuppressWarnings("unchecked")
    private SELF self() {
      return (SELF) this;
    }

    public SELF withImage(String value) {
      image = value;
      return self();
    }

    public SELF withHostName(String value) {
      hostName = value;
      return self();
    }

    public SELF withExposePorts(Set<Integer> value) {
      exposePorts = value;
      return self();
    }

    public SELF withFilesToMount(Map<String, String> value) {
      filesToMount = value;
      return self();
    }

    public SELF withEnvVars(Map<String, String> value) {
      envVars = value;
      return self();
    }

    public SELF withNetwork(Network value) {
      network = Optional.of(value);
      return self();
    }

    public SELF withStartupRetryLimit(int value) {
      startupRetryLimit = value;
      return self();
    }

    public abstract BUILD build();
  }
}
