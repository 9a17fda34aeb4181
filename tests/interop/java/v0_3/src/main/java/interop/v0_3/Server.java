package interop.v0_3;

import com.google.gson.JsonObject;
import io.quarkus.runtime.Quarkus;
import io.quarkus.runtime.QuarkusApplication;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;

/**
 * An agent on the reference server of the official Java SDK of 0.3, over JSON-RPC, HTTP+JSON and
 * gRPC.
 *
 * <p>Prints one line of JSON with its address when it is ready and runs until its standard input
 * closes. It knows the words of ../python/server.py, which says what each does.
 */
public final class Server implements QuarkusApplication {
    private static final String PORT = "quarkus.http.port";

    static void main() throws IOException {
        System.setProperty(PORT, String.valueOf(freePort()));
        Quarkus.run(Server.class);
    }

    /** The card has to name the port before Quarkus listens, so that it can't choose one. */
    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    /** The address of all bindings, without a scheme. */
    static String authority() {
        return "127.0.0.1:" + System.getProperty(PORT);
    }

    @Override
    public int run(String... arguments) throws IOException {
        JsonObject ready = new JsonObject();
        ready.addProperty("card", "http://" + authority());
        ready.addProperty("http", "http://" + authority());
        ready.addProperty("grpc", authority());
        System.out.println(ready);
        try (InputStream input = System.in) {
            input.transferTo(OutputStream.nullOutputStream());
        }
        return 0;
    }
}
