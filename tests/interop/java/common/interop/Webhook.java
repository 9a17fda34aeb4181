package interop;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/** A webhook receiver that queues deliveries. */
public final class Webhook implements AutoCloseable {
    /** Timeout for the wanted delivery, in seconds. */
    private static final int SECONDS = 10;

    private final BlockingQueue<Delivery> deliveries = new LinkedBlockingQueue<>();
    private final HttpServer server;

    /** The headers and the body of a delivery. */
    public record Delivery(Headers headers, JsonObject body) {}

    public Webhook() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/hook", exchange -> {
            byte[] bytes = exchange.getRequestBody().readAllBytes();
            exchange.sendResponseHeaders(200, -1);
            exchange.close();
            String text = new String(bytes, StandardCharsets.UTF_8);
            JsonObject body = JsonParser.parseString(text).getAsJsonObject();
            deliveries.add(new Delivery(exchange.getRequestHeaders(), body));
        });
        server.start();
    }

    public String url() {
        return "http://127.0.0.1:" + server.getAddress().getPort() + "/hook";
    }

    /** Returns the first delivery with a {@code wanted} body. */
    public Delivery until(Predicate<JsonObject> wanted) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS);
        while (true) {
            long left = end - System.nanoTime();
            Delivery delivery = deliveries.poll(left, TimeUnit.NANOSECONDS);
            Expect.expect(delivery != null, "no such delivery within " + SECONDS + " s");
            if (wanted.test(delivery.body())) {
                return delivery;
            }
        }
    }

    @Override
    public void close() {
        server.stop(0);
    }
}
