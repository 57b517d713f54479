import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.hive.HiveCatalog;

/**
 * Appends snapshots without files through Iceberg's HiveCatalog until it is killed. Each acknowledged append is a line
 * of a file. Arguments: the name of the writer, the addresses of the servers, the file, and whether commits take Hive's
 * locks (true or false).
 */
public final class IcebergWriter {
    private static final long PAUSE = 200; // milliseconds after each append

    private IcebergWriter() {}

    public static void main(String[] arguments) throws Exception {
        Configuration configuration = new Configuration();
        configuration.set("iceberg.engine.hive.lock-enabled", arguments[3]);
        configuration.set("iceberg.hive.lock-check-max-wait-ms", "200");
        configuration.set("iceberg.hive.lock-heartbeat-interval-ms", "1000");
        HiveCatalog catalog = new HiveCatalog();
        catalog.setConf(configuration);
        catalog.initialize("doors", Map.of("uri", arguments[1]));
        Path acknowledged = Path.of(arguments[2]);
        while (true) {
            String name = arguments[0] + "-" + UUID.randomUUID();
            try {
                catalog.loadTable(TableIdentifier.of("doors", "t")).newFastAppend().set("append", name).commit();
            } catch (RuntimeException error) { // refused, or the connection broke: unknown in any case
                System.err.println(error);
                name = "";
            }
            if (!name.isEmpty()) {
                Files.writeString(acknowledged, name + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
            }
            Thread.sleep(PAUSE);
        }
    }
}
