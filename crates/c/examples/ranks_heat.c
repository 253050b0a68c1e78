/* Heat in a rod, its ends kept at 1 and 0: Jacobi steps until nothing changes any more.
 * Each rank has a piece of the rod and a ghost cell at either end.
 * The program of docs/moving/heat.c, with the calls of motet. Run it alone (a rank for each argument
 * of 1 or more), or by `motet run` or mpiexec. */
#include <assert.h>
#include <math.h>
#include <motet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CELLS 60
#define CHECK 100 /* steps between two looks at the residual */
#define TO_LEFT 1
#define TO_RIGHT 2
#define TRY(call)                                                                                  \
    if ((call) != MOTET_OK) {                                                                      \
        fprintf(stderr, "%s\n", motet_error_message());                                            \
        return 1;                                                                                  \
    }

static int heat(motet_comm *world, void *ctx)
{
    (void)ctx;
    int rank = motet_comm_rank(world), size = motet_comm_size(world);
    if (CELLS % size != 0) {
        fprintf(stderr, "%d cells cannot be cut into %d equal pieces\n", CELLS, size);
        return 1;
    }
    int n = CELLS / size;
    int left = rank > 0 ? rank - 1 : MOTET_NOBODY;
    int right = rank + 1 < size ? rank + 1 : MOTET_NOBODY;

    /* cells[0] and cells[n + 1] are the ghosts; beyond the ends of the rod they never change. */
    double cells[CELLS + 2] = {0}, next[CELLS + 2] = {0};
    const size_t one = sizeof *cells;
    if (rank == 0)
        cells[0] = next[0] = 1.0;

    double residual = 1.0;
    int steps = 0;
    while (residual > 1e-7) {
        TRY(motet_sendrecv(world, &cells[1], one, left, TO_LEFT, &cells[n + 1], one, right, TO_LEFT,
                           NULL));
        TRY(motet_sendrecv(world, &cells[n], one, right, TO_RIGHT, &cells[0], one, left, TO_RIGHT,
                           NULL));

        double change = 0.0;
        for (int i = 1; i <= n; i++) {
            next[i] = 0.5 * (cells[i - 1] + cells[i + 1]);
            change = fmax(change, fabs(next[i] - cells[i]));
        }
        memcpy(&cells[1], &next[1], n * one);
        steps++;
        if (steps % CHECK == 0)
            TRY(motet_allreduce(world, &change, &residual, 1, MOTET_DOUBLE, MOTET_MAX));
    }

    /* The mean of each half, by the ranks that have it. */
    motet_comm *half;
    TRY(motet_comm_split(world, 2 * rank >= size, rank, &half));
    double mine = 0.0, sum = 0.0;
    for (int i = 1; i <= n; i++)
        mine += cells[i];
    TRY(motet_reduce(half, &mine, &sum, 1, MOTET_DOUBLE, MOTET_SUM, 0));
    if (motet_comm_rank(half) == 0) {
        int ranks = motet_comm_size(half);
        printf("ranks %d to %d: mean %.6f\n", rank, rank + ranks - 1, sum / (ranks * n));
    }
    TRY(motet_comm_free(half));

    double rod[CELLS];
    TRY(motet_gather(world, &cells[1], n * one, rod, 0));
    if (rank == 0) {
        printf("%d cells after %d steps: %.6f ... %.6f\n", CELLS, steps, rod[0], rod[CELLS - 1]);
        assert(rod[0] > 0.98 && rod[CELLS - 1] < 0.02);
    }
    return 0;
}

int main(int argc, char **argv)
{
    int ranks = argc > 1 ? atoi(argv[1]) : 0;
    motet_code code = ranks > 0 ? motet_run_threads(ranks, heat, NULL) : motet_run_current(heat, NULL);
    if (code != MOTET_OK)
        fprintf(stderr, "%s\n", motet_error_message());
    return code != MOTET_OK;
}
