// The counter of Container.java as a service of Axis2, behind the server that comes with it.

import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.axis2.context.ConfigurationContext;
import org.apache.axis2.context.ConfigurationContextFactory;
import org.apache.axis2.description.AxisService;
import org.apache.axis2.transport.http.SimpleHTTPServer;

public class Axis2 {
    /** What Axis2 makes a service of: `/axis2/services/Counter/read` and `…/add`. */
    public static class Counter {
        private static final AtomicLong COUNT = new AtomicLong();

        public long read() {
            return COUNT.get();
        }

        public long add(long n) {
            return COUNT.addAndGet(n);
        }
    }

    public static void main(String[] arguments) throws Exception {
        ConfigurationContext context =
                ConfigurationContextFactory.createConfigurationContextFromFileSystem(null, null);
        var configuration = context.getAxisConfiguration();
        AxisService service = AxisService.createService(Counter.class.getName(), configuration);
        service.setName("Counter");
        configuration.addService(service);
        // It takes no port 0, and does not say which one it has.
        int port;
        try (var free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = free.getLocalPort();
        }
        new SimpleHTTPServer(context, port).start();
        var input = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
        while (input.readLine() != null) {
            System.out.println("{\"port\": " + port + "}");
        }
        System.exit(0);
    }
}
