/* Collectives give each rank its part; communicators are made and freed. */
#include "check.h"
#include <math.h>

static void bytes(motet_comm *comm, int rank, int size)
{
    int all[16], part, numbers[16], came[16];
    for (int root = 0; root < size; root++) {
        int word = rank == root ? 100 + root : -1;
        CHECK(motet_bcast(comm, &word, sizeof word, root) == MOTET_OK && word == 100 + root);
        int mine = rank * 10;
        CHECK(motet_gather(comm, &mine, sizeof mine, rank == root ? all : NULL, root) == MOTET_OK);
        if (rank == root)
            for (int i = 0; i < size; i++)
                CHECK(all[i] == i * 10);
        CHECK(motet_scatter(comm, rank == root ? all : NULL, &part, sizeof part, root) == MOTET_OK);
        CHECK(part == rank * 10);
    }
    CHECK(motet_allgather(comm, &rank, sizeof rank, all) == MOTET_OK);
    for (int i = 0; i < size; i++) {
        CHECK(all[i] == i);
        numbers[i] = rank * 100 + i;
    }
    CHECK(motet_alltoall(comm, numbers, sizeof *numbers, came) == MOTET_OK);
    for (int i = 0; i < size; i++)
        CHECK(came[i] == i * 100 + rank);
    CHECK(motet_barrier(comm) == MOTET_OK);
}

static void totals(motet_comm *comm, int rank, int size)
{
    int32_t least, product = rank + 1, factorial = 1;
    int64_t big = (int64_t)1 << 40, sum;
    double numbers[3] = {rank, -rank, 0.5}, greatest[3];
    for (int i = 2; i <= size; i++)
        factorial *= i;
    CHECK(motet_allreduce(comm, &product, &least, 1, MOTET_INT32, MOTET_MIN) == MOTET_OK);
    CHECK(least == 1);
    /* The total may lie where the number is. */
    CHECK(motet_allreduce(comm, &product, &product, 1, MOTET_INT32, MOTET_PROD) == MOTET_OK);
    CHECK(product == factorial);
    CHECK(motet_reduce(comm, &big, rank == 0 ? &sum : NULL, 1, MOTET_INT64, MOTET_SUM, 0) == MOTET_OK);
    CHECK(rank != 0 || sum == size * big);
    CHECK(motet_allreduce(comm, numbers, greatest, 3, MOTET_DOUBLE, MOTET_MAX) == MOTET_OK);
    CHECK(greatest[0] == size - 1 && greatest[1] == 0 && greatest[2] == 0.5);
    double odd = rank == 0 ? NAN : 1.0;
    CHECK(motet_allreduce(comm, &odd, &odd, 1, MOTET_DOUBLE, MOTET_MIN) == MOTET_OK && isnan(odd));
    int32_t most = INT32_MAX;
    CHECK(motet_allreduce(comm, &most, &least, 1, MOTET_INT32, MOTET_SUM) == MOTET_OK);
    CHECK(size != 2 || least == -2);
    CHECK(motet_allreduce(comm, NULL, NULL, 0, MOTET_DOUBLE, MOTET_SUM) == MOTET_OK);
}

static void scans(motet_comm *comm, int rank)
{
    int64_t mine[2] = {rank + 1, 1}, up[2], before[2] = {-7, -7};
    CHECK(motet_scan(comm, mine, up, 2, MOTET_INT64, MOTET_SUM) == MOTET_OK);
    CHECK(up[0] == (rank + 1) * (rank + 2) / 2 && up[1] == rank + 1);
    CHECK(motet_exscan(comm, mine, before, 2, MOTET_INT64, MOTET_SUM) == MOTET_OK);
    CHECK(rank == 0 ? before[0] == -7 : before[0] == rank * (rank + 1) / 2 && before[1] == rank);
    /* In place. */
    double greatest = rank % 2 ? -1.0 : rank;
    CHECK(motet_scan(comm, &greatest, &greatest, 1, MOTET_DOUBLE, MOTET_MAX) == MOTET_OK);
    CHECK(greatest == rank - rank % 2);
    CHECK(motet_scan(comm, NULL, NULL, 0, MOTET_INT32, MOTET_MIN) == MOTET_OK);
}

static void parts(motet_comm *comm, int rank, int size)
{
    motet_comm *half, *copy, *none;
    CHECK(motet_comm_split(comm, rank % 2, -rank, &half) == MOTET_OK && half != NULL);
    int members = (size + 1 - rank % 2) / 2, sum = 0;
    CHECK(motet_comm_size(half) == members && motet_comm_rank(half) == members - 1 - rank / 2);
    CHECK(motet_allreduce(half, &rank, &sum, 1, MOTET_INT32, MOTET_SUM) == MOTET_OK);
    CHECK(sum == (rank % 2) * members + members * (members - 1));
    CHECK(motet_comm_split(comm, rank == 0 ? -1 : 0, 0, &none) == MOTET_OK);
    CHECK((none == NULL) == (rank == 0));
    /* A copy keeps its messages apart. */
    int one = 1, two = 2, came;
    CHECK(motet_comm_dup(comm, &copy) == MOTET_OK);
    CHECK(motet_send(comm, &one, sizeof one, rank, 0) == MOTET_OK);
    CHECK(motet_send(copy, &two, sizeof two, rank, 0) == MOTET_OK);
    CHECK(motet_recv(copy, &came, sizeof came, rank, 0, NULL) == MOTET_OK && came == 2);
    CHECK(motet_recv(comm, &came, sizeof came, rank, 0, NULL) == MOTET_OK && came == 1);
    CHECK(motet_comm_free(copy) == MOTET_OK && motet_comm_free(half) == MOTET_OK);
    /* `none` is left to the end of the rank. */
}

static int meet(motet_comm *comm, void *ctx)
{
    int rank = motet_comm_rank(comm), size = motet_comm_size(comm);
    (void)ctx;
    for (int i = 0; i < 3; i++) {
        bytes(comm, rank, size);
        totals(comm, rank, size);
    scans(comm, rank);
        parts(comm, rank, size);
    }
    return 0;
}

/* Different calls at the same time are told. */
static int differ(motet_comm *comm, void *ctx)
{
    int rank = motet_comm_rank(comm), word = 0;
    motet_code code = rank == 0 ? motet_barrier(comm) : motet_bcast(comm, &word, sizeof word, 1);
    *(motet_code *)ctx = code;
    return code == MOTET_COMM ? 7 : 8;
}

int main(void)
{
    for (int ranks = 1; ranks <= 5; ranks++)
        CHECK(motet_run_threads(ranks, meet, NULL) == MOTET_OK);
    motet_code code = MOTET_OK;
    CHECK(motet_run_threads(2, differ, &code) == MOTET_RANK);
    SAYS("its body has returned 7");
    return 0;
}
