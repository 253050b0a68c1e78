/* The world that the program was started in. */
#include "check.h"

static int add(motet_comm *comm, void *ctx)
{
    int mine = motet_comm_rank(comm) + 1, sum = 0, size = motet_comm_size(comm), came = -1;
    int right = mine % size, left = (mine + size - 2) % size;
    (void)ctx;
    CHECK(motet_run_current(add, NULL) == MOTET_IN_HANDLER);
    CHECK(motet_allreduce(comm, &mine, &sum, 1, MOTET_INT32, MOTET_SUM) == MOTET_OK);
    CHECK(motet_sendrecv(comm, &sum, sizeof sum, right, 1, &came, sizeof came, left, 1, NULL) ==
          MOTET_OK);
    CHECK(came == sum);
    if (mine == 1)
        printf("%d ranks: %d\n", size, sum);
    return 0;
}

int main(void)
{
    CHECK(motet_run_current(add, NULL) == MOTET_OK);
    return 0;
}
