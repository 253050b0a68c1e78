/* A rank that fails ends those of other processes where they wait. */
#include "check.h"

static int fail(motet_comm *comm, void *ctx)
{
    int word;
    (void)ctx;
    CHECK(motet_barrier(comm) == MOTET_OK || motet_comm_rank(comm) != 1);
    if (motet_comm_rank(comm) == 1)
        return 3;
    CHECK(motet_recv(comm, &word, sizeof word, MOTET_ANY_SOURCE, 0, NULL) == MOTET_STOPPED);
    CHECK(motet_barrier(comm) == MOTET_STOPPED);
    printf("stopped\n");
    fflush(stdout);
    return 9;
}

int main(void)
{
    CHECK(motet_run_current(fail, NULL) == MOTET_RANK);
    SAYS("rank 1: its body has returned 3");
    return 0;
}
