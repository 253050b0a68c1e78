import mpi.MPI;
import mpi.Request;

/** The calls of MPJ Express: one number in each message. */
final class Messages {
    private final double[] value = {0};
    private final double[] fromLeft = {0};
    private final double[] fromRight = {0};
    private final double[] sent = {0};
    private final double[] reduced = {0};

    Messages(String[] arguments) throws Exception {
        MPI.Init(arguments);
    }

    int rank() throws Exception {
        return MPI.COMM_WORLD.Rank();
    }

    int size() throws Exception {
        return MPI.COMM_WORLD.Size();
    }

    void begin(double first) {
        value[0] = first;
    }

    double value() {
        return value[0];
    }

    void shift(int to, int from, int tag) throws Exception {
        MPI.COMM_WORLD.Sendrecv(
                value, 0, 1, MPI.DOUBLE, to, tag, fromLeft, 0, 1, MPI.DOUBLE, from, tag);
        value[0] = fromLeft[0];
    }

    void exchange(int left, int right) throws Exception {
        // Two tags: with two ranks both neighbours are the same.
        Request[] all = {
            MPI.COMM_WORLD.Irecv(fromLeft, 0, 1, MPI.DOUBLE, left, 1),
            MPI.COMM_WORLD.Irecv(fromRight, 0, 1, MPI.DOUBLE, right, 2),
            MPI.COMM_WORLD.Isend(value, 0, 1, MPI.DOUBLE, right, 1),
            MPI.COMM_WORLD.Isend(value, 0, 1, MPI.DOUBLE, left, 2),
        };
        for (Request request : all) {
            request.Wait();
        }
        value[0] = (fromLeft[0] + fromRight[0]) / 2;
    }

    void barrier() throws Exception {
        MPI.COMM_WORLD.Barrier();
    }

    double max(double mine) throws Exception {
        sent[0] = mine;
        MPI.COMM_WORLD.Allreduce(sent, 0, reduced, 0, 1, MPI.DOUBLE, MPI.MAX);
        return reduced[0];
    }

    double sum(double mine) throws Exception {
        sent[0] = mine;
        MPI.COMM_WORLD.Allreduce(sent, 0, reduced, 0, 1, MPI.DOUBLE, MPI.SUM);
        return reduced[0];
    }

    void end() throws Exception {
        MPI.Finalize();
    }
}
