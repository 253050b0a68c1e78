/* Stages with messages between them: stages PATTERN STAGES UNITS TERMS.
 *
 *   pipeline             each process sends one message to itself
 *   shift                each sends one to its right neighbour on a ring
 *   exchange             each sends one to each neighbour and receives one from each
 *   exchange-two-shifts  a shift to the left, then one to the right
 *
 * Messages carry one double. The clock runs until all processes have done all stages. */
#include "peer.h"

/* The unit of bench/src/unit.rs: x <- 1 / (1 + x), so many terms. */
static void compute(long units, long terms)
{
    for (long unit = 0; unit < units; unit++) {
        volatile double start = 1.0;
        double x = start;
        for (long term = 0; term < terms; term++)
            x = 1.0 / (1.0 + x);
        start = x;
    }
}

static double value;

static void shift(int to, int from, int tag)
{
    double next;
    MPI_Sendrecv(&value, 1, MPI_DOUBLE, to, tag, &next, 1, MPI_DOUBLE, from, tag, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    value = next;
}

static void exchange(int left, int right)
{
    MPI_Request all[4];
    double from_left, from_right;
    /* Two tags: with two processes both neighbours are the same. */
    MPI_Irecv(&from_left, 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &all[0]);
    MPI_Irecv(&from_right, 1, MPI_DOUBLE, right, 2, MPI_COMM_WORLD, &all[1]);
    MPI_Isend(&value, 1, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &all[2]);
    MPI_Isend(&value, 1, MPI_DOUBLE, left, 2, MPI_COMM_WORLD, &all[3]);
    MPI_Waitall(4, all, MPI_STATUSES_IGNORE);
    value = (from_left + from_right) / 2;
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    if (argc != 5) {
        fprintf(stderr, "stages PATTERN STAGES UNITS TERMS\n");
        return 2;
    }
    const char *pattern = argv[1];
    long stages = number(argv[2]), units = number(argv[3]), terms = number(argv[4]);
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    value = rank;
    MPI_Barrier(MPI_COMM_WORLD);
    double started = MPI_Wtime();
    /* One loop per pattern: the choice is not part of a stage. */
    if (!strcmp(pattern, "pipeline")) {
        for (long stage = 0; stage < stages; stage++) {
            compute(units, terms);
            shift(rank, rank, 0);
        }
    } else if (!strcmp(pattern, "shift")) {
        for (long stage = 0; stage < stages; stage++) {
            compute(units, terms);
            shift(right, left, 0);
        }
    } else if (!strcmp(pattern, "exchange")) {
        for (long stage = 0; stage < stages; stage++) {
            compute(units, terms);
            exchange(left, right);
        }
    } else if (!strcmp(pattern, "exchange-two-shifts")) {
        for (long stage = 0; stage < stages; stage++) {
            compute(units, terms);
            shift(left, right, 1);
            shift(right, left, 2);
        }
    } else {
        fprintf(stderr, "no pattern %s\n", pattern);
        return 2;
    }
    /* A process that waits for nobody may be done before another one has had its turn. */
    MPI_Barrier(MPI_COMM_WORLD);
    double seconds = MPI_Wtime() - started, sum;
    /* The values only move and mix: their sum stays. */
    MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    double expected = size * (size - 1) / 2.0;
    if (sum - expected > 1e-6 * (expected + 1) || expected - sum > 1e-6 * (expected + 1)) {
        fprintf(stderr, "%f, not %f\n", sum, expected);
        return 1;
    }
    finish(seconds, stages);
    return 0;
}
