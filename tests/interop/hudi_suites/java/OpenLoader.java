import java.net.URL;
import java.net.URLClassLoader;

/** The system class loader of the tests: Hive expects one to which jars can be added, as Java 8 has. */
public final class OpenLoader extends URLClassLoader {
  public OpenLoader(ClassLoader parent) {
    super(new URL[0], parent);
  }
}
