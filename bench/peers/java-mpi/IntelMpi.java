import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import mpi.Collective;
import mpi.Comm;
import mpi.Datatype;
import mpi.MPI;
import mpi.Op;
import mpi.PTP;
import mpi.Request;

/** The calls of Intel MPI's binding for Java: one number in each message, outside of the heap. */
final class Messages {
    private final DoubleBuffer value = place();
    private final DoubleBuffer fromLeft = place();
    private final DoubleBuffer fromRight = place();
    private final DoubleBuffer sent = place();
    private final DoubleBuffer reduced = place();

    Messages(String[] arguments) throws Exception {
        MPI.Init(arguments);
    }

    private static DoubleBuffer place() {
        return ByteBuffer.allocateDirect(8).order(ByteOrder.nativeOrder()).asDoubleBuffer();
    }

    int rank() throws Exception {
        return Comm.WORLD.getRank();
    }

    int size() throws Exception {
        return Comm.WORLD.getSize();
    }

    void begin(double first) {
        value.put(0, first);
    }

    double value() {
        return value.get(0);
    }

    void shift(int to, int from, int tag) throws Exception {
        PTP.sendRecv(
                value, 1, Datatype.DOUBLE, to, tag, fromLeft, 1, Datatype.DOUBLE, from, tag, Comm.WORLD);
        value.put(0, fromLeft.get(0));
    }

    void exchange(int left, int right) throws Exception {
        // Two tags: with two ranks both neighbours are the same.
        Request[] all = {
            PTP.irecv(fromLeft, 1, Datatype.DOUBLE, left, 1, Comm.WORLD),
            PTP.irecv(fromRight, 1, Datatype.DOUBLE, right, 2, Comm.WORLD),
            PTP.isend(value, 1, Datatype.DOUBLE, right, 1, Comm.WORLD),
            PTP.isend(value, 1, Datatype.DOUBLE, left, 2, Comm.WORLD),
        };
        Request.waitAll(all.length, all);
        value.put(0, (fromLeft.get(0) + fromRight.get(0)) / 2);
    }

    void barrier() throws Exception {
        Collective.barrier(Comm.WORLD);
    }

    double max(double mine) throws Exception {
        sent.put(0, mine);
        Collective.allReduce(sent, reduced, 1, Datatype.DOUBLE, Op.MPI_MAX, Comm.WORLD);
        return reduced.get(0);
    }

    double sum(double mine) throws Exception {
        sent.put(0, mine);
        Collective.allReduce(sent, reduced, 1, Datatype.DOUBLE, Op.MPI_SUM, Comm.WORLD);
        return reduced.get(0);
    }

    void end() throws Exception {
        MPI.Finalize();
    }
}
