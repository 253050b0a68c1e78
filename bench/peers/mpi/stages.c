/* Stages with messages between them: stages PATTERN UNITS TERMS BUDGET.
 *
 *   pipeline             each process sends one message to itself
 *   shift                each sends one to its right neighbour on a ring
 *   exchange             each sends one to each neighbour and receives one from each
 *   exchange-two-shifts  a shift to the left, then one to the right
 *
 * Messages carry one double. Stages last about BUDGET us. */
#include "peer.h"

/* The unit of bench/src/unit.rs: x <- 1 / (1 + x), so many terms, so many times in one chain. */
static long units, terms;

static void compute(void)
{
    volatile double start = 1.0;
    double x = start;
    for (long unit = 0; unit < units; unit++)
        for (long term = 0; term < terms; term++)
            x = 1.0 / (1.0 + x);
    start = x;
}

static double value;
static int left, right;

static void shift(int to, int from, int tag)
{
    double next;
    MPI_Sendrecv(&value, 1, MPI_DOUBLE, to, tag, &next, 1, MPI_DOUBLE, from, tag, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    value = next;
}

static void exchange(void)
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

static void alone(long stages)
{
    for (long stage = 0; stage < stages; stage++)
        compute();
}

/* One loop per pattern: the choice is not part of a stage. */
static void pipeline(long stages)
{
    for (long stage = 0; stage < stages; stage++) {
        compute();
        shift(rank, rank, 0);
    }
}

static void shifts(long stages)
{
    for (long stage = 0; stage < stages; stage++) {
        compute();
        shift(right, left, 0);
    }
}

static void exchanges(long stages)
{
    for (long stage = 0; stage < stages; stage++) {
        compute();
        exchange();
    }
}

static void two_shifts(long stages)
{
    for (long stage = 0; stage < stages; stage++) {
        compute();
        shift(left, right, 1);
        shift(right, left, 2);
    }
}

static int perform(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "stages PATTERN UNITS TERMS BUDGET\n");
        return 2;
    }
    const char *pattern = argv[1];
    double budget = (double)number(argv[4]), us, sum;
    long stages;
    units = number(argv[2]);
    terms = number(argv[3]);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    value = rank;
    work_us = 0;
    if (units > 0) {
        us = measure(alone, LEAST, budget, &stages);
        work_us = us / (double)stages;
    }
    if (!strcmp(pattern, "pipeline")) {
        us = measure(pipeline, LEAST, budget, &stages);
    } else if (!strcmp(pattern, "shift")) {
        us = measure(shifts, LEAST, budget, &stages);
    } else if (!strcmp(pattern, "exchange")) {
        us = measure(exchanges, LEAST, budget, &stages);
    } else if (!strcmp(pattern, "exchange-two-shifts")) {
        us = measure(two_shifts, LEAST, budget, &stages);
    } else {
        fprintf(stderr, "no pattern %s\n", pattern);
        return 2;
    }
    /* The values only move and mix: their sum stays. */
    MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    double expected = size * (size - 1) / 2.0;
    if (sum - expected > 1e-6 * (expected + 1) || expected - sum > 1e-6 * (expected + 1)) {
        fprintf(stderr, "%f, not %f\n", sum, expected);
        return 1;
    }
    told(us, stages);
    return 0;
}
