/* Prints the bits of totals, which tests compare with those of Rust. */
#include "check.h"
#include <inttypes.h>

#define COUNT 50

static int fold(motet_comm *comm, void *ctx)
{
    double mine[COUNT], all[COUNT], one[COUNT];
    int rank = motet_comm_rank(comm);
    (void)ctx;
    for (int i = 0; i < COUNT; i++)
        mine[i] = (rank + 1.0) * 0.1 + i / 3.0;
    CHECK(motet_allreduce(comm, mine, all, COUNT, MOTET_DOUBLE, MOTET_SUM) == MOTET_OK);
    CHECK(motet_reduce(comm, mine, one, COUNT, MOTET_DOUBLE, MOTET_PROD, 0) == MOTET_OK);
    for (int i = 0; rank == 0 && i < 2 * COUNT; i++) {
        uint64_t bits;
        memcpy(&bits, i < COUNT ? &all[i] : &one[i - COUNT], sizeof bits);
        printf("%016" PRIx64 "\n", bits);
    }
    return 0;
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    CHECK(motet_run_threads((size_t)atoi(argv[1]), fold, NULL) == MOTET_OK);
    return 0;
}
