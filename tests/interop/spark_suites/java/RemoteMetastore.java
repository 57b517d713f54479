import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.security.ProtectionDomain;
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
 * <p>The tests take their metastore from two methods, which name a new embedded Derby. The agent sets hive.metastore.uris
 * in what they return. Tests of clients expect a new metastore each time, so the agent empties the remote one for them.
 */
public final class RemoteMetastore {
  private static final java.util.Map<String, String> METHODS =
      java.util.Map.of(
          "org/apache/spark/sql/hive/HiveUtils$", "newTemporaryConfiguration",
          "org/apache/spark/sql/hive/client/HiveClientBuilder$", "buildConf");
  private static final java.util.Map<String, String> REPLACEMENTS =
      java.util.Map.of("newTemporaryConfiguration", "remote", "buildConf", "emptied");
  private static final String SIGNATURE = "(Lscala/collection/immutable/Map;)Lscala/collection/immutable/Map;";

  private RemoteMetastore() {}

  public static void premain(String uris, Instrumentation instrumentation) {
    System.setProperty("metastore.uris", uris);
    instrumentation.addTransformer(
        new ClassFileTransformer() {
          @Override
          public byte[] transform(
              ClassLoader loader, String name, Class<?> type, ProtectionDomain domain, byte[] bytes) {
            return METHODS.containsKey(name) ? changed(bytes, METHODS.get(name)) : null;
          }
        });
  }

  /** Called by newTemporaryConfiguration with its result. */
  @SuppressWarnings("unchecked")
  public static Map<String, String> remote(Map<String, String> settings) {
    return (Map<String, String>) settings.updated("hive.metastore.uris", System.getProperty("metastore.uris"));
  }

  /** Called by buildConf with its result. Drops all databases and tables. */
  public static Map<String, String> emptied(Map<String, String> settings) throws TException {
    Configuration configuration = new Configuration();
    configuration.set("hive.metastore.uris", System.getProperty("metastore.uris"));
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
    return remote(settings);
  }

  private static byte[] changed(byte[] bytes, String wanted) {
    ClassReader reader = new ClassReader(bytes);
    ClassWriter writer = new ClassWriter(reader, 0);
    reader.accept(
        new ClassVisitor(Opcodes.ASM9, writer) {
          @Override
          public MethodVisitor visitMethod(int access, String name, String type, String generic, String[] thrown) {
            MethodVisitor method = super.visitMethod(access, name, type, generic, thrown);
            return wanted.equals(name) ? returning(method, REPLACEMENTS.get(name)) : method;
          }
        },
        0);
    return writer.toByteArray();
  }

  private static MethodVisitor returning(MethodVisitor method, String replacement) {
    return new MethodVisitor(Opcodes.ASM9, method) {
      @Override
      public void visitInsn(int code) {
        if (code == Opcodes.ARETURN) {
          visitMethodInsn(Opcodes.INVOKESTATIC, "RemoteMetastore", replacement, SIGNATURE, false);
        }
        super.visitInsn(code);
      }
    };
  }
}
