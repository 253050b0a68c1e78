/* A rank that fails ends the others where they wait; the run says which one it was. */
#include "check.h"
#include <stdatomic.h>

static atomic_int stopped;

static int fail(motet_comm *comm, void *ctx)
{
    int word;
    (void)ctx;
    /* All have begun; some may be stopped while they learn that. */
    motet_code begun = motet_barrier(comm);
    if (motet_comm_rank(comm) == 1) {
        /* The others sleep by then, or will find out. */
        for (volatile int i = 0; i < 1000000; i++)
            ;
        return 3;
    }
    CHECK(begun == MOTET_OK || begun == MOTET_STOPPED);
    CHECK(motet_recv(comm, &word, sizeof word, MOTET_ANY_SOURCE, 0, NULL) == MOTET_STOPPED);
    SAYS("rank 1: its body has returned 3");
    CHECK(motet_barrier(comm) == MOTET_STOPPED);
    stopped++;
    return 9;
}

int main(void)
{
    for (int i = 1; i <= 20; i++) {
        CHECK(motet_run_threads(4, fail, NULL) == MOTET_RANK);
        SAYS("rank 1: its body has returned 3");
        CHECK(stopped == 3 * i);
    }
    return 0;
}
