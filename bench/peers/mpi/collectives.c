/* Collectives: collectives OPERATION COUNT ROUNDS.
 *
 *   barrier    COUNT is not used
 *   allreduce  the sum of COUNT doubles
 *   broadcast  COUNT doubles from process 0
 *   alltoall   COUNT doubles from each to each
 *
 * The clock runs until all processes have done all rounds. */
#include "peer.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    if (argc != 4) {
        fprintf(stderr, "collectives OPERATION COUNT ROUNDS\n");
        return 2;
    }
    const char *operation = argv[1];
    long count = number(argv[2]), rounds = number(argv[3]);
    int each = (int)count;
    double *from = malloc(sizeof(double) * (size_t)(count * size + 1));
    double *to = malloc(sizeof(double) * (size_t)(count * size + 1));
    for (long at = 0; at < count * size; at++)
        from[at] = rank + 1;
    memset(to, 0, sizeof(double) * (size_t)(count * size + 1));
    MPI_Barrier(MPI_COMM_WORLD);
    double started = MPI_Wtime(), expected = 0, got = 0;
    if (!strcmp(operation, "barrier")) {
        for (long round = 0; round < rounds; round++)
            MPI_Barrier(MPI_COMM_WORLD);
    } else if (!strcmp(operation, "allreduce")) {
        for (long round = 0; round < rounds; round++)
            MPI_Allreduce(from, to, each, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        expected = size * (size + 1) / 2.0;
        got = to[count - 1];
    } else if (!strcmp(operation, "broadcast")) {
        for (long round = 0; round < rounds; round++)
            MPI_Bcast(from, each, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        expected = 1;
        got = from[count - 1];
    } else if (!strcmp(operation, "alltoall")) {
        for (long round = 0; round < rounds; round++)
            MPI_Alltoall(from, each, MPI_DOUBLE, to, each, MPI_DOUBLE, MPI_COMM_WORLD);
        expected = size;
        got = to[count * size - 1];
    } else {
        fprintf(stderr, "no operation %s\n", operation);
        return 2;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    double seconds = MPI_Wtime() - started;
    if (got != expected) {
        fprintf(stderr, "%f, not %f\n", got, expected);
        return 1;
    }
    finish(seconds, rounds);
    return 0;
}
