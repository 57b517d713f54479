import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.security.ProtectionDomain;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.metastore.HiveMetaStoreClient;
import org.apache.hadoop.hive.metastore.IMetaStoreClient;
import org.apache.thrift.TException;
import org.apache.xbean.asm9.ClassReader;
import org.apache.xbean.asm9.ClassVisitor;
import org.apache.xbean.asm9.ClassWriter;
import org.apache.xbean.asm9.MethodVisitor;
import org.apache.xbean.asm9.Opcodes;
import scala.collection.immutable.Map;

/**
 * A Java agent that gives Spark's tests a remote metastore: java -javaagent:agent.jar=thrift://host:port.
 *
 * <p>The tests take their metastore from two methods, which name an embedded Derby that is empty. The agent changes what
 * these methods return: it empties the remote metastore and sets hive.metastore.uris.
 */
public final class RemoteMetastore {
  private static final Set<String> CLASSES =
      Set.of("org/apache/spark/sql/hive/HiveUtils$", "org/apache/spark/sql/hive/client/HiveClientBuilder$");
  private static final Set<String> METHODS = Set.of("newTemporaryConfiguration", "buildConf");
  private static final String SIGNATURE = "(Lscala/collection/immutable/Map;)Lscala/collection/immutable/Map;";

  private RemoteMetastore() {}

  public static void premain(String uris, Instrumentation instrumentation) {
    System.setProperty("metastore.uris", uris);
    instrumentation.addTransformer(
        new ClassFileTransformer() {
          @Override
          public byte[] transform(
              ClassLoader loader, String name, Class<?> type, ProtectionDomain domain, byte[] bytes) {
            return CLASSES.contains(name) ? changed(bytes) : null;
          }
        });
  }

  /** Called by the changed methods with their result. */
  @SuppressWarnings("unchecked")
  public static Map<String, String> remote(Map<String, String> settings) throws TException {
    String uris = System.getProperty("metastore.uris");
    Configuration configuration = new Configuration();
    configuration.set("hive.metastore.uris", uris);
    IMetaStoreClient client = new HiveMetaStoreClient(new HiveConf(configuration, RemoteMetastore.class));
    try {
      for (String database : client.getAllDatabases()) {
        for (String table : client.getAllTables(database)) {
          client.dropTable(database, table, true, true);
        }
        if (!"default".equals(database)) {
          client.dropDatabase(database, true, true, true);
        }
      }
    } finally {
      client.close();
    }
    return (Map<String, String>) settings.updated("hive.metastore.uris", uris);
  }

  private static byte[] changed(byte[] bytes) {
    ClassReader reader = new ClassReader(bytes);
    ClassWriter writer = new ClassWriter(reader, 0);
    reader.accept(
        new ClassVisitor(Opcodes.ASM9, writer) {
          @Override
          public MethodVisitor visitMethod(int access, String name, String type, String generic, String[] thrown) {
            MethodVisitor method = super.visitMethod(access, name, type, generic, thrown);
            return METHODS.contains(name) ? returningRemote(method) : method;
          }
        },
        0);
    return writer.toByteArray();
  }

  private static MethodVisitor returningRemote(MethodVisitor method) {
    return new MethodVisitor(Opcodes.ASM9, method) {
      @Override
      public void visitInsn(int code) {
        if (code == Opcodes.ARETURN) {
          visitMethodInsn(Opcodes.INVOKESTATIC, "RemoteMetastore", "remote", SIGNATURE, false);
        }
        super.visitInsn(code);
      }
    };
  }
}
