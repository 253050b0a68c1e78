import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.List;
import java.util.Scanner;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Computations on a ring, in stages with messages between them, on virtual threads.
 *
 * <p>Each line of the input, "MODE PATTERN PARALLEL STAGES UNITS TERMS", is answered by one line: the time as JSON. One process
 * answers many, so that the compiler of the virtual machine has done its work when it counts.
 */
public final class Stages {
    /** What a computation holds, with room around it: no two share a cache line. */
    static final class Computation {
        final AtomicLong begun = new AtomicLong();
        final ReentrantLock lock = new ReentrantLock();
        int waiting;
        final Slot[] from = {new Slot(), new Slot()};
        volatile Thread thread;
        double value;
        long p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14, p15;
    }

    /** Messages from one side, as many places as a sender can be ahead. */
    static final class Slot {
        double[] values = {0};
        volatile long written;
        long p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14, p15;
    }

    private static final VarHandle WRITTEN;

    static {
        try {
            WRITTEN = MethodHandles.lookup().findVarHandle(Slot.class, "written", long.class);
        } catch (ReflectiveOperationException error) {
            throw new ExceptionInInitializerError(error);
        }
    }

    /** So often a computation looks before it gives its thread away. */
    private static final int LOOKS = 100;

    private final Computation[] all;
    private final String pattern;
    private final int[] by;
    private final long stages;
    private final int units;
    private final int terms;
    private final int places;
    private final CountDownLatch unfinished;

    private Stages(String pattern, int parallel, long stages, int units, int terms) {
        this.pattern = pattern;
        this.by = switch (pattern) {
            case "pipeline" -> new int[] {0};
            case "shift" -> new int[] {1};
            case "two-shifts" -> new int[] {1, 1};
            case "exchange", "exchange-two-shifts" -> new int[] {-1, 1};
            default -> throw new IllegalArgumentException("no pattern " + pattern);
        };
        this.stages = stages;
        this.units = units;
        this.terms = terms;
        this.places = Integer.highestOneBit(parallel) * 2;
        this.unfinished = new CountDownLatch(parallel);
        this.all = new Computation[parallel];
        for (int at = 0; at < parallel; at++) {
            all[at] = new Computation();
            for (Slot slot : all[at].from) {
                slot.values = new double[places];
            }
        }
    }

    static volatile double sink = 1.0;

    /** The unit of bench/src/unit.rs: x <- 1 / (1 + x), so many terms, so many times in one chain. */
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

    private void message(int at) {
        if (by.length == 1 || second(all[at])) {
            Thread.startVirtualThread(() -> stage(at));
        }
    }

    /** Leaves a message, or takes the one that waits. */
    private boolean second(Computation to) {
        to.lock.lock();
        try {
            to.waiting = (to.waiting + 1) % by.length;
            return to.waiting == 0;
        } finally {
            to.lock.unlock();
        }
    }

    private void stage(int at) {
        long stage = all[at].begun.incrementAndGet();
        compute();
        if (stage < stages) {
            for (int step : by) {
                message((at + step + all.length) % all.length);
            }
        } else if (stage == stages) {
            unfinished.countDown();
        }
    }

    private long spawned() throws InterruptedException {
        long started = System.nanoTime();
        for (int at = 0; at < all.length; at++) {
            for (int i = 0; i < by.length; i++) {
                message(at);
            }
        }
        unfinished.await();
        return System.nanoTime() - started;
    }

    private void post(int to, int side, long stage, double value) {
        Slot slot = all[to].from[side];
        slot.values[(int) stage & (places - 1)] = value;
        // Volatile, as is the thread's name: either it sees the message or it is woken.
        WRITTEN.setVolatile(slot, stage + 1);
        Thread waits = all[to].thread;
        if (waits != null) {
            LockSupport.unpark(waits);
        }
    }

    private double receive(int at, int side, long stage) {
        Computation me = all[at];
        Slot slot = me.from[side];
        for (int looks = 0; (long) WRITTEN.getVolatile(slot) <= stage; looks++) {
            if (looks < LOOKS) {
                Thread.onSpinWait();
                continue;
            }
            me.thread = Thread.currentThread();
            while ((long) WRITTEN.getVolatile(slot) <= stage) {
                LockSupport.park();
            }
            me.thread = null;
        }
        return slot.values[(int) stage & (places - 1)];
    }

    private void rank(int at) {
        int left = (at + all.length - 1) % all.length;
        int right = (at + 1) % all.length;
        double value = at;
        for (long stage = 0; stage < stages; stage++) {
            compute();
            switch (pattern) {
                case "pipeline" -> {
                    post(at, 0, stage, value);
                    value = receive(at, 0, stage);
                }
                case "shift" -> {
                    post(right, 0, stage, value);
                    value = receive(at, 0, stage);
                }
                case "exchange" -> {
                    post(right, 0, stage, value);
                    post(left, 1, stage, value);
                    value = (receive(at, 0, stage) + receive(at, 1, stage)) / 2;
                }
                case "exchange-two-shifts" -> {
                    post(left, 1, stage, value);
                    double other = receive(at, 1, stage);
                    post(right, 0, stage, value);
                    value = (other + receive(at, 0, stage)) / 2;
                }
                default -> throw new IllegalArgumentException("no rendezvous pattern " + pattern);
            }
        }
        all[at].value = value;
    }

    private long rendezvous() throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        long started = System.nanoTime();
        for (int at = 0; at < all.length; at++) {
            int number = at;
            threads.add(Thread.startVirtualThread(() -> rank(number)));
        }
        double sum = 0;
        for (int at = 0; at < all.length; at++) {
            threads.get(at).join();
            sum += all[at].value;
        }
        long took = System.nanoTime() - started;
        // The values only move and mix: their sum stays.
        double expected = all.length * (all.length - 1) / 2.0;
        if (Math.abs(sum - expected) > 1e-6 * (expected + 1)) {
            throw new IllegalStateException(sum + ", not " + expected);
        }
        return took;
    }

    public static void main(String[] arguments) throws InterruptedException {
        Scanner lines = new Scanner(System.in);
        while (lines.hasNextLine()) {
            String[] words = lines.nextLine().split(" ");
            Stages program = new Stages(
                    words[1],
                    Integer.parseInt(words[2]),
                    Long.parseLong(words[3]),
                    Integer.parseInt(words[4]),
                    Integer.parseInt(words[5]));
            long ns = words[0].equals("spawned") ? program.spawned() : program.rendezvous();
            System.out.println("{\"ns\": " + ns + "}");
            System.out.flush();
        }
    }
}
