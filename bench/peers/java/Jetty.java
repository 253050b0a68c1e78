// The counter of Container.java behind Jetty's server, with a virtual thread for each request.

import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.thread.QueuedThreadPool;

class Jetty {
    private static final AtomicLong COUNT = new AtomicLong();

    public static void main(String[] arguments) throws Exception {
        var threads = new QueuedThreadPool();
        threads.setVirtualThreadsExecutor(Executors.newVirtualThreadPerTaskExecutor());
        var server = new Server(threads);
        var connector = new ServerConnector(server);
        connector.setHost(InetAddress.getLoopbackAddress().getHostAddress());
        server.addConnector(connector);
        server.setHandler(new Handler.Abstract() {
            @Override
            public boolean handle(Request request, Response response, Callback callback) throws Exception {
                var answer = switch (request.getMethod()) {
                    case "GET" -> "{\"n\":" + COUNT.get() + "}";
                    default -> {
                        var body = Content.Source.asString(request, StandardCharsets.UTF_8);
                        yield Long.toString(COUNT.addAndGet(Long.parseLong(body.trim())));
                    }
                };
                var bytes = answer.getBytes(StandardCharsets.UTF_8);
                response.getHeaders().put(HttpHeader.CONTENT_TYPE, "application/json");
                response.getHeaders().put(HttpHeader.CONTENT_LENGTH, bytes.length);
                response.write(true, ByteBuffer.wrap(bytes), callback);
                return true;
            }
        });
        server.start();
        var input = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
        while (input.readLine() != null) {
            System.out.println("{\"port\": " + connector.getLocalPort() + "}");
        }
        System.exit(0);
    }
}
