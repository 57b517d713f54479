import java.io.PrintStream;
import java.util.HashMap;
import java.util.Map;

import org.junit.runner.Description;
import org.junit.runner.JUnitCore;
import org.junit.runner.Request;
import org.junit.runner.notification.Failure;
import org.junit.runner.notification.RunListener;

/** Runs the classes of tests that are named; a line for each test: class, test, result, message, between tabs. */
public final class RunTests {
    private RunTests() {}

    public static void main(String[] classes) throws ClassNotFoundException {
        PrintStream out = System.out;
        System.setOut(System.err);
        for (String name : classes) {
            JUnitCore core = new JUnitCore();
            core.addListener(new Listener(out));
            String[] parts = name.split("#"); // of a class, or one test of it
            Class<?> tests = Class.forName(parts[0]);
            core.run(parts.length == 1 ? Request.aClass(tests) : Request.method(tests, parts[1]));
        }
        out.flush();
        System.exit(0); // clients of the tests leave threads
    }

    private static final class Listener extends RunListener {
        private final PrintStream out;
        private final Map<String, String> said = new HashMap<>();

        Listener(PrintStream out) {
            this.out = out;
        }

        @Override
        public void testFailure(Failure failure) {
            said.put(failure.getDescription().getDisplayName(), "fail\t" + line(failure.getException()));
            if (failure.getDescription().getMethodName() == null) {
                print(failure.getDescription());
            }
        }

        @Override
        public void testAssumptionFailure(Failure failure) {
            said.put(failure.getDescription().getDisplayName(), "skip\t" + line(failure.getException()));
        }

        @Override
        public void testIgnored(Description description) {
            said.put(description.getDisplayName(), "skip\tignored");
            print(description);
        }

        @Override
        public void testFinished(Description description) {
            print(description);
        }

        private void print(Description description) {
            String result = said.getOrDefault(description.getDisplayName(), "pass\t");
            String name = description.getTestClass() == null ? "" : description.getTestClass().getSimpleName();
            out.println(name + "\t" + description.getMethodName() + "\t" + result);
        }

        private static String line(Throwable thrown) {
            String text = thrown.getClass().getSimpleName() + ": " + thrown.getMessage();
            text = text.replaceAll("\\s+", " ");
            return text.substring(0, Math.min(5000, text.length()));
        }
    }
}
