import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;

/**
 * Starts so many processes of a program of MPJ Express on this machine, as its daemon does: each
 * asks whoever started it where the others listen.
 *
 * <p>Processes COUNT JAVA CLASSPATH CLASS
 */
public final class Processes {
    public static void main(String[] arguments) throws Exception {
        int count = Integer.parseInt(arguments[0]);
        List<Process> all = new ArrayList<>();
        try (ServerSocket server = new ServerSocket(0, count, InetAddress.getLocalHost())) {
            // A process that does not start must not be waited for.
            server.setSoTimeout(60_000);
            String told = "#Number of Processes;" + count + ";#Protocol Switch Limit;131072;#Server Name;"
                    + InetAddress.getLocalHost().getHostAddress() + ";#Server Port;" + server.getLocalPort();
            for (int rank = 0; rank < count; rank++) {
                all.add(start(rank, arguments, told));
            }
            meet(server, count);
            int worst = 0;
            for (Process process : all) {
                worst = Math.max(worst, process.waitFor());
            }
            System.exit(worst);
        } finally {
            all.forEach(Process::destroyForcibly);
        }
    }

    private static Process start(int rank, String[] arguments, String told) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(
                arguments[1],
                "-XX:+UseSerialGC",
                "-Xshare:auto",
                "-cp",
                arguments[2],
                arguments[3],
                String.valueOf(rank),
                told,
                "niodev");
        builder.inheritIO();
        if (rank > 0) {
            builder.redirectInput(ProcessBuilder.Redirect.from(new java.io.File("/dev/null")));
        }
        return builder.start();
    }

    /** Each tells its rank and its two ports; when all have, all are told where all are. */
    private static void meet(ServerSocket server, int count) throws IOException {
        String[] peers = new String[count];
        List<Socket> waiting = new ArrayList<>();
        for (int met = 0; met < count; met++) {
            Socket socket = server.accept();
            DataInputStream in = new DataInputStream(socket.getInputStream());
            in.readUTF();
            int writes = in.readInt();
            int reads = in.readInt();
            int rank = in.readInt();
            peers[rank] = server.getInetAddress().getHostAddress() + "@" + reads + "@" + writes + "@" + rank;
            waiting.add(socket);
        }
        String told = "#Peer Information;" + String.join(";", peers);
        for (Socket socket : waiting) {
            new DataOutputStream(socket.getOutputStream()).writeUTF(told);
            socket.close();
        }
    }
}
