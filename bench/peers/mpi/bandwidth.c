/* Long messages to and fro between processes 0 and 1: bandwidth COUNT ROUNDS.
 *
 * COUNT doubles go one way, then the other, in place. The time is that of one way. */
#include "peer.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    if (argc != 3 || size != 2) {
        fprintf(stderr, "bandwidth COUNT ROUNDS, on two processes\n");
        return 2;
    }
    long count = number(argv[1]), rounds = number(argv[2]);
    double *values = malloc(sizeof(double) * (size_t)count);
    for (long at = 0; at < count; at++)
        values[at] = rank;
    MPI_Barrier(MPI_COMM_WORLD);
    double started = MPI_Wtime();
    for (long round = 0; round < rounds; round++) {
        if (rank == 0)
            MPI_Send(values, (int)count, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(values, (int)count, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(values, (int)count, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
    }
    double seconds = MPI_Wtime() - started;
    /* Both have the values of process 0 now. */
    if (values[0] != 0 || values[count - 1] != 0) {
        fprintf(stderr, "the values did not arrive\n");
        return 1;
    }
    finish(seconds, 2 * rounds);
    return 0;
}
