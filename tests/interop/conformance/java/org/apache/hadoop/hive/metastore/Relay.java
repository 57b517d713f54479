package org.apache.hadoop.hive.metastore;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;

/** Passes on every connection to a port to the server that runs already, at the address of a system property. */
final class Relay {
    private Relay() {}

    /** Does not return, as a server. */
    static void serve(int port) throws IOException {
        URI server = URI.create(System.getProperty("conformance.uri"));
        try (ServerSocket listener = new ServerSocket(port, 50, InetAddress.getLoopbackAddress())) {
            while (true) {
                Socket client = listener.accept();
                Socket there = new Socket(server.getHost(), server.getPort());
                pass(client, there);
                pass(there, client);
            }
        }
    }

    private static void pass(Socket from, Socket to) {
        Thread thread = new Thread(() -> {
            try (InputStream in = from.getInputStream(); OutputStream out = to.getOutputStream()) {
                in.transferTo(out);
            } catch (IOException gone) {
                // The other side says so to its own.
            }
        });
        thread.setDaemon(true);
        thread.start();
    }
}
