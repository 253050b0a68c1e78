// A counter behind the HTTP server of the development kit: GET /counter reads it, POST /counter/-/add adds to it.
// Prints {"port": N} for a line, and ends with its input.

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;

class Container {
    private static final AtomicLong COUNT = new AtomicLong();

    public static void main(String[] arguments) throws IOException {
        System.setProperty("sun.net.httpserver.nodelay", "true");
        System.setProperty("sun.net.httpserver.maxIdleConnections", "1024");
        var server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 1024);
        server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
        server.createContext("/counter", Container::answer);
        server.start();
        var input = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
        while (input.readLine() != null) {
            System.out.println("{\"port\": " + server.getAddress().getPort() + "}");
        }
        server.stop(0);
        System.exit(0);
    }

    private static void answer(HttpExchange exchange) throws IOException {
        var body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
        var answer = switch (exchange.getRequestMethod()) {
            case "GET" -> "{\"n\":" + COUNT.get() + "}";
            default -> Long.toString(COUNT.addAndGet(Long.parseLong(body.trim())));
        };
        var bytes = answer.getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("content-type", "application/json");
        exchange.sendResponseHeaders(200, bytes.length);
        exchange.getResponseBody().write(bytes);
        exchange.close();
    }
}
