import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;

/**
 * Stages with messages between ranks of an MPI for Java, whose calls are in {@code Messages}.
 *
 * <p>Rank 0 reads "PATTERN UNITS TERMS BUDGET", line after line until the input ends, and answers
 * each with one line of JSON: the time of a stage and of its work alone in us, and the number of
 * ranks. The patterns, and how they are measured, are those of bench/peers/mpi.
 */
public final class Stages {
    /** So many rounds at least: the barrier after them is measured too. */
    private static final long LEAST = 20;

    /** What a rank does in so many stages. */
    private interface Rounds {
        void run(long rounds) throws Exception;
    }

    /** A time in us, and of how many rounds. */
    private record Measured(double us, long rounds) {
        double each() {
            return us / rounds;
        }
    }

    private final Messages messages;
    private final int rank;
    private final int size;
    private final int left;
    private final int right;
    /** The lines of the input, as rank 0 reads them and the others are told. */
    private BufferedReader lines;
    private final List<PrintStream> others = new ArrayList<>();
    private int units;
    private int terms;
    private volatile double sink = 1.0;

    /** The others sleep between measurements, each on a connection: an MPI may spin. */
    private Stages(Messages messages) throws Exception {
        this.messages = messages;
        rank = messages.rank();
        size = messages.size();
        left = (rank + size - 1) % size;
        right = (rank + 1) % size;
        InputStream in = System.in;
        if (rank == 0) {
            try (ServerSocket server = new ServerSocket(0, size, InetAddress.getLoopbackAddress())) {
                messages.sum(server.getLocalPort());
                for (int other = 1; other < size; other++) {
                    others.add(new PrintStream(server.accept().getOutputStream(), true));
                }
            }
        } else {
            int port = (int) messages.sum(0);
            in = new Socket(InetAddress.getLoopbackAddress(), port).getInputStream();
        }
        lines = new BufferedReader(new InputStreamReader(in));
    }

    /** The unit of bench/src/unit.rs: x <- 1 / (1 + x), so many terms, so many times in a chain. */
    private void compute() {
        double x = sink;
        for (int unit = 0; unit < units; unit++) {
            for (int term = 0; term < terms; term++) {
                x = 1.0 / (1.0 + x);
            }
        }
        if (x < 0) {
            sink = x;
        }
    }

    private void alone(long stages) {
        for (long stage = 0; stage < stages; stage++) {
            compute();
        }
    }

    /** One loop for each pattern: the choice is not part of a stage. */
    private Rounds of(String pattern) {
        return switch (pattern) {
            case "pipeline" -> stages -> {
                for (long stage = 0; stage < stages; stage++) {
                    compute();
                    messages.shift(rank, rank, 0);
                }
            };
            case "shift" -> stages -> {
                for (long stage = 0; stage < stages; stage++) {
                    compute();
                    messages.shift(right, left, 0);
                }
            };
            case "exchange" -> stages -> {
                for (long stage = 0; stage < stages; stage++) {
                    compute();
                    messages.exchange(left, right);
                }
            };
            case "exchange-two-shifts" -> stages -> {
                for (long stage = 0; stage < stages; stage++) {
                    compute();
                    messages.shift(left, right, 1);
                    messages.shift(right, left, 2);
                }
            };
            default -> throw new IllegalArgumentException("no pattern " + pattern);
        };
    }

    /**
     * Runs rounds until as many as last half the budget have run, and gives their number and the
     * longest time over the ranks. All that ran before were fewer.
     */
    private Measured measure(Rounds run, double budget) throws Exception {
        long rounds = 2;
        for (int tries = 0;; tries++) {
            messages.barrier();
            long started = System.nanoTime();
            run.run(rounds);
            messages.barrier();
            double longest = messages.max((System.nanoTime() - started) / 1e3);
            // Once for nothing in any case.
            if (tries > 0 && rounds >= LEAST && longest >= budget / 2) {
                return new Measured(longest, rounds);
            }
            double fit = longest > 0 ? budget / longest : 10;
            long next = (long) (rounds * Math.min(fit, 10));
            rounds = Math.max(LEAST, Math.max(next, tries > 0 ? 2 * rounds : rounds));
        }
    }

    private String answer(String line) throws Exception {
        String[] words = line.split(" ");
        units = Integer.parseInt(words[1]);
        terms = Integer.parseInt(words[2]);
        double budget = Double.parseDouble(words[3]);
        messages.begin(rank);
        double work = units > 0 ? measure(this::alone, budget).each() : 0;
        double us = measure(of(words[0]), budget).each();
        double sum = messages.sum(messages.value());
        // The values only move and mix: their sum stays.
        double expected = size * (size - 1) / 2.0;
        if (Math.abs(sum - expected) > 1e-6 * (expected + 1)) {
            throw new IllegalStateException(sum + ", not " + expected);
        }
        return "{\"us\": " + us + ", \"work_us\": " + work + ", \"processes\": " + size + "}";
    }

    /** The next line on every rank, or null at the end. */
    private String next() throws Exception {
        String line = lines.readLine();
        if (line != null) {
            others.forEach(other -> other.println(line));
        } else {
            others.forEach(PrintStream::close);
        }
        return line;
    }

    public static void main(String[] arguments) throws Exception {
        Messages messages = new Messages(arguments);
        try {
            Stages stages = new Stages(messages);
            for (String line; (line = stages.next()) != null;) {
                String answer = stages.answer(line);
                if (stages.rank == 0) {
                    System.out.println(answer);
                    System.out.flush();
                }
            }
            messages.end();
        } catch (Exception error) {
            // Who waits for this rank would do so for ever.
            System.err.println(error);
            Runtime.getRuntime().halt(1);
        }
    }
}
