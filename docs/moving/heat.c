/* Heat in a rod, its ends kept at 1 and 0: Jacobi steps until nothing changes any more.
 * Each rank has a piece of the rod and a ghost cell at either end. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CELLS 60
#define CHECK 100 /* steps between two looks at the residual */
#define TO_LEFT 1
#define TO_RIGHT 2

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (CELLS % size != 0) {
        fprintf(stderr, "%d cells cannot be cut into %d equal pieces\n", CELLS, size);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    int n = CELLS / size;
    int left = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    int right = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;

    /* cells[0] and cells[n + 1] are the ghosts; beyond the ends of the rod they never change. */
    double *cells = calloc(n + 2, sizeof *cells);
    double *next = calloc(n + 2, sizeof *next);
    if (rank == 0)
        cells[0] = next[0] = 1.0;

    double residual = 1.0;
    int steps = 0;
    while (residual > 1e-7) {
        MPI_Request requests[4];
        MPI_Irecv(&cells[0], 1, MPI_DOUBLE, left, TO_RIGHT, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(&cells[n + 1], 1, MPI_DOUBLE, right, TO_LEFT, MPI_COMM_WORLD, &requests[1]);
        MPI_Isend(&cells[1], 1, MPI_DOUBLE, left, TO_LEFT, MPI_COMM_WORLD, &requests[2]);
        MPI_Isend(&cells[n], 1, MPI_DOUBLE, right, TO_RIGHT, MPI_COMM_WORLD, &requests[3]);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);

        double change = 0.0;
        for (int i = 1; i <= n; i++) {
            next[i] = 0.5 * (cells[i - 1] + cells[i + 1]);
            change = fmax(change, fabs(next[i] - cells[i]));
        }
        memcpy(&cells[1], &next[1], n * sizeof *cells);
        steps++;
        if (steps % CHECK == 0)
            MPI_Allreduce(&change, &residual, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }

    /* The mean of each half, by the ranks that have it. */
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, 2 * rank >= size, rank, &half);
    double mine = 0.0, sum = 0.0;
    int half_rank, half_size;
    for (int i = 1; i <= n; i++)
        mine += cells[i];
    MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, half);
    MPI_Comm_rank(half, &half_rank);
    MPI_Comm_size(half, &half_size);
    if (half_rank == 0)
        printf("ranks %d to %d: mean %.6f\n", rank, rank + half_size - 1, sum / (half_size * n));
    MPI_Comm_free(&half);

    double rod[CELLS];
    MPI_Gather(&cells[1], n, MPI_DOUBLE, rod, n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d cells after %d steps: %.6f ... %.6f\n", CELLS, steps, rod[0], rod[CELLS - 1]);
    free(cells);
    free(next);
    MPI_Finalize();
    return 0;
}
