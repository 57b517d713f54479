import java.io.File;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;

public final class OldLoader extends URLClassLoader {
    public OldLoader(ClassLoader given) throws MalformedURLException {
        super(urls(), given.getParent());
    }

    private static URL[] urls() throws MalformedURLException {
        String[] paths = System.getProperty("java.class.path").split(File.pathSeparator);
        URL[] urls = new URL[paths.length];
        for (int i = 0; i < paths.length; i++) {
            urls[i] = new File(paths[i]).toURI().toURL();
        }
        return urls;
    }
}
