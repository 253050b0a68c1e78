/* Ranks that wait for each other end with an error that says who waits for whom, and where. */
#include "check.h"
#include <stdatomic.h>

static int first_line, second_line;
static atomic_int told;

static int cycle(motet_comm *comm, void *ctx)
{
    int word;
    motet_code code;
    (void)ctx;
    if (motet_comm_rank(comm) == 0)
        code = motet_recv(comm, &word, sizeof word, 1, 7, NULL), first_line = __LINE__;
    else
        code = motet_recv(comm, &word, sizeof word, 0, 8, NULL), second_line = __LINE__;
    CHECK(code == MOTET_STUCK);
    SAYS("wait for each other");
    told++;
    /* It is over for good. */
    CHECK(motet_send(comm, &word, sizeof word, 0, 0) == MOTET_STUCK);
    CHECK(motet_barrier(comm) == MOTET_STUCK);
    /* What the body says then does not matter. */
    return 0;
}

/* One rank has ended; the others wait for it. */
static int absent(motet_comm *comm, void *ctx)
{
    (void)ctx;
    return motet_comm_rank(comm) == 1 ? 0 : motet_barrier(comm) != MOTET_STUCK;
}

static int alone(motet_comm *comm, void *ctx)
{
    (void)ctx;
    motet_status status;
    return motet_probe(comm, MOTET_ANY_SOURCE, MOTET_ANY_TAG, &status) != MOTET_STUCK;
}

/* A rank that waits for a port may be told by anyone: nobody is stuck. */
static int by_port(motet_comm *comm, void *ctx)
{
    motet_port *port = ctx;
    motet_item *item;
    int word = 1;
    if (motet_comm_rank(comm) == 0)
        return motet_recv(comm, &word, sizeof word, 1, 0, NULL);
    CHECK(motet_port_receive(port, 50, &item) == MOTET_TIMEOUT);
    return motet_send(comm, &word, sizeof word, 0, 0);
}

/* Ranks that go to sleep often, each woken by the one before it, are not stuck. */
static int relay(motet_comm *comm, void *ctx)
{
    int rank = motet_comm_rank(comm), size = motet_comm_size(comm), word = 0;
    (void)ctx;
    for (int i = 0; i < 200; i++) {
        if (rank == i % size) {
            for (volatile int j = 0; j < 100000; j++)
                ;
            if (motet_send(comm, &i, sizeof i, (rank + 1) % size, 0) != MOTET_OK)
                return 1;
        }
        if (rank == (i + 1) % size &&
            (motet_recv(comm, &word, sizeof word, i % size, 0, NULL) != MOTET_OK || word != i))
            return 2;
    }
    return motet_barrier(comm);
}

int main(void)
{
    char place[64];
    CHECK(motet_run_threads(2, cycle, NULL) == MOTET_STUCK && told == 2);
    SAYS("rank 0: waits in recv(source 1, tag 7) at ");
    SAYS("rank 1: waits in recv(source 0, tag 8) at ");
    SAYS("cycle: 0 → 1 → 0");
    snprintf(place, sizeof place, "stuck.c:%d:", first_line);
    SAYS(place);
    snprintf(place, sizeof place, "stuck.c:%d:", second_line);
    SAYS(place);

    CHECK(motet_run_threads(3, absent, NULL) == MOTET_STUCK);
    SAYS("barrier");
    SAYS("rank 1: finished");
    CHECK(motet_run_threads(1, alone, NULL) == MOTET_STUCK);
    SAYS("probe");

    motet_port *port;
    CHECK(motet_port_new(&port) == MOTET_OK);
    CHECK(motet_run_threads(2, by_port, port) == MOTET_OK);
    motet_port_free(port);
    CHECK(motet_run_threads(4, relay, NULL) == MOTET_OK);
    return 0;
}
