/* One-sided: windows MEMORY COUNT BUDGET.
 *
 * Each process puts COUNT doubles into the window of the next one, then all meet in a fence.
 * MEMORY is where the window lies: "create" in memory of the program, "allocate" in memory of the
 * library. Rounds last about BUDGET us. */
#include "peer.h"

static double *from, *window;
static int count;
static MPI_Win win;

static void puts_and_fences(long rounds)
{
    int next = (rank + 1) % size;
    for (long round = 0; round < rounds; round++) {
        MPI_Put(from, count, MPI_DOUBLE, next, 0, count, MPI_DOUBLE, win);
        MPI_Win_fence(0, win);
    }
}

static int perform(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "windows MEMORY COUNT BUDGET\n");
        return 2;
    }
    long rounds;
    count = (int)number(argv[2]);
    MPI_Aint bytes = (MPI_Aint)sizeof(double) * count;
    from = malloc((size_t)bytes);
    for (long at = 0; at < count; at++)
        from[at] = rank + 1;
    int own = !strcmp(argv[1], "create");
    if (own) {
        window = malloc((size_t)bytes);
        MPI_Win_create(window, bytes, sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    } else if (!strcmp(argv[1], "allocate")) {
        MPI_Win_allocate(bytes, sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &window, &win);
    } else {
        fprintf(stderr, "no memory %s\n", argv[1]);
        return 2;
    }
    memset(window, 0, (size_t)bytes);
    MPI_Win_fence(0, win);
    double us = measure(puts_and_fences, LEAST, (double)number(argv[3]), &rounds);
    double expected = (rank + size - 1) % size + 1;
    if (window[0] != expected || window[count - 1] != expected) {
        fprintf(stderr, "the values did not arrive\n");
        return 1;
    }
    told(us, rounds);
    MPI_Win_free(&win);
    free(from);
    if (own)
        free(window);
    return 0;
}
