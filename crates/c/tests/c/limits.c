/* So many messages of a rank may wait at another; one more is refused, or waits. */
#include "check.h"

#define LIMIT 3
#define ALL 50

static int rejects(motet_comm *comm, void *ctx)
{
    motet_world *world = ctx;
    int rank = motet_comm_rank(comm), sent = 0, came;
    CHECK(motet_world_limit(world, 1, MOTET_REJECT) == MOTET_ARGUMENT);
    SAYS("the world runs");
    CHECK(motet_world_size(world) == 2);
    CHECK(motet_world_run(world, rejects, world) == MOTET_IN_HANDLER);
    if (rank == 0) {
        motet_code code;
        while ((code = motet_send(comm, &sent, sizeof sent, 1, 0)) == MOTET_OK)
            sent++;
        CHECK(code == MOTET_FULL && sent == LIMIT);
        SAYS("motet_send");
    }
    CHECK(motet_barrier(comm) == MOTET_OK);
    for (int i = 0; rank == 1 && i < LIMIT; i++)
        CHECK(motet_recv(comm, &came, sizeof came, 0, 0, NULL) == MOTET_OK && came == i);
    CHECK(motet_barrier(comm) == MOTET_OK);
    /* There is room again. */
    if (rank == 0)
        CHECK(motet_send(comm, &sent, sizeof sent, 1, 0) == MOTET_OK);
    else
        CHECK(motet_recv(comm, &came, sizeof came, 0, 0, NULL) == MOTET_OK && came == LIMIT);
    return 0;
}

static int waits(motet_comm *comm, void *ctx)
{
    (void)ctx;
    for (int i = 0, came; i < ALL; i++)
        if (motet_comm_rank(comm) == 0)
            CHECK(motet_send(comm, &i, sizeof i, 1, 0) == MOTET_OK);
        else
            CHECK(motet_recv(comm, &came, sizeof came, 0, 0, NULL) == MOTET_OK && came == i);
    return 0;
}

/* As many as may wait are under way both ways: an exchange goes on all the same. */
static int exchanges(motet_comm *comm, void *ctx)
{
    int other = 1 - motet_comm_rank(comm), came = -1, out = ALL;
    (void)ctx;
    for (int i = 0; i < LIMIT; i++)
        CHECK(motet_send(comm, &i, sizeof i, other, 0) == MOTET_OK);
    CHECK(motet_sendrecv(comm, &out, sizeof out, other, 1, &came, sizeof came, other, 0, NULL)
          == MOTET_OK);
    CHECK(came == 0);
    for (int i = 1; i < LIMIT; i++)
        CHECK(motet_recv(comm, &came, sizeof came, other, 0, NULL) == MOTET_OK && came == i);
    CHECK(motet_recv(comm, &came, sizeof came, other, 1, NULL) == MOTET_OK && came == ALL);
    return 0;
}

/* What nobody receives is waited for: the run is stuck, where without a limit it would end. */
static int sends(motet_comm *comm, void *ctx)
{
    (void)ctx;
    for (int i = 0; motet_comm_rank(comm) == 0 && i <= LIMIT; i++)
        if (motet_send(comm, &i, sizeof i, 1, 0) == MOTET_STUCK)
            return i == LIMIT ? 0 : 1;
    return motet_barrier(comm) == MOTET_STUCK ? 0 : 1;
}

int main(void)
{
    motet_world *world;
    CHECK(motet_world_limit(NULL, 1, MOTET_REJECT) == MOTET_NULL);
    CHECK(motet_world_threads(2, &world) == MOTET_OK);
    CHECK(motet_world_limit(world, 0, MOTET_REJECT) == MOTET_ARGUMENT);
    SAYS("`messages` is 0");
    CHECK(motet_world_limit(world, 1, MOTET_DROP_OLDEST) == MOTET_ARGUMENT);
    SAYS("`overflow` is 1");
    CHECK(motet_world_limit(world, LIMIT, MOTET_REJECT) == MOTET_OK);
    CHECK(motet_world_run(world, rejects, world) == MOTET_OK);
    CHECK(motet_world_limit(world, LIMIT, MOTET_WAIT_FOR_ROOM) == MOTET_OK);
    CHECK(motet_world_run(world, waits, NULL) == MOTET_OK);
    CHECK(motet_world_run(world, exchanges, NULL) == MOTET_OK);
    CHECK(motet_world_run(world, sends, NULL) == MOTET_STUCK);
    motet_world_free(world);
    return 0;
}
