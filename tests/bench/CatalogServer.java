import java.net.InetSocketAddress;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.hive.HiveCatalog;
import org.apache.iceberg.rest.RESTCatalogAdapter;
import org.apache.iceberg.rest.RESTCatalogServlet;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;

/** The REST server of Iceberg's compatibility kit over HiveCatalog, on a loopback address. Argument: Thrift's address. */
public final class CatalogServer {
    private CatalogServer() {}

    public static void main(String[] arguments) throws Exception {
        HiveCatalog catalog = new HiveCatalog();
        catalog.setConf(new Configuration());
        catalog.initialize("hive", Map.of("uri", arguments[0]));
        ServletContextHandler context = new ServletContextHandler();
        context.addServlet(new ServletHolder(new RESTCatalogServlet(new RESTCatalogAdapter(catalog))), "/*");
        Server server = new Server(new InetSocketAddress("127.0.0.1", 0));
        server.setHandler(context);
        server.start();
        System.out.println(server.getURI());
        server.join();
    }
}
