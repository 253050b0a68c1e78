/* Ranks send and receive: order, tags, any source, lengths, probes, nobody. */
#include "check.h"

#define LONG 1000000

static int talk(motet_comm *comm, void *ctx)
{
    int rank = motet_comm_rank(comm), size = motet_comm_size(comm);
    motet_status status;
    CHECK(size == *(int *)ctx);

    /* Around a ring, to nobody, from nobody. */
    int right = (rank + 1) % size, left = (rank + size - 1) % size, came = -1;
    CHECK(motet_sendrecv(comm, &rank, sizeof rank, right, 3, &came, sizeof came, left, 3, &status) ==
          MOTET_OK);
    CHECK(came == left && status.source == left && status.tag == 3 && status.size == sizeof came);
    CHECK(motet_sendrecv(comm, &rank, sizeof rank, right, 4, &rank, sizeof rank, left, 4, NULL) ==
          MOTET_OK);
    CHECK(rank == left);
    rank = motet_comm_rank(comm);
    CHECK(motet_send(comm, &rank, sizeof rank, MOTET_NOBODY, 0) == MOTET_OK);
    CHECK(motet_recv(comm, &came, sizeof came, MOTET_NOBODY, 0, &status) == MOTET_OK);
    CHECK(came == left && status.source == MOTET_NOBODY && status.size == 0);

    /* All send to rank 0, which takes them as they come; each one's messages keep their order. */
    if (rank > 0)
        for (int i = 0; i < 10; i++) {
            int message[2] = {rank, i};
            CHECK(motet_send(comm, message, sizeof message, 0, i % 2) == MOTET_OK);
        }
    else {
        int next[64][2] = {{0}};
        for (int i = 0; i < 10 * (size - 1); i++) {
            int message[2];
            CHECK(motet_recv(comm, message, sizeof message, MOTET_ANY_SOURCE, MOTET_ANY_TAG,
                             &status) == MOTET_OK);
            CHECK(status.source == message[0] && status.tag == message[1] % 2);
            int *expected = &next[message[0]][status.tag];
            CHECK(message[1] == 2 * *expected + status.tag);
            ++*expected;
        }
    }
    CHECK(motet_barrier(comm) == MOTET_OK);

    /* A message that is too long stays; one that is shorter says so; the empty one comes. */
    if (size > 1 && rank == 1) {
        CHECK(motet_send(comm, "12345678", 8, 0, 1) == MOTET_OK);
        CHECK(motet_send(comm, NULL, 0, 0, 2) == MOTET_OK);
    } else if (size > 1 && rank == 0) {
        char room[16] = {0};
        CHECK(motet_probe(comm, 1, 1, &status) == MOTET_OK && status.size == 8);
        CHECK(motet_recv(comm, room, 4, 1, 1, NULL) == MOTET_TRUNCATED);
        SAYS("8 elements");
        CHECK(room[0] == 0);
        CHECK(motet_recv(comm, room, sizeof room, 1, 1, &status) == MOTET_OK);
        CHECK(status.size == 8 && memcmp(room, "12345678", 9) == 0);
        CHECK(motet_recv(comm, NULL, 0, 1, 2, &status) == MOTET_OK && status.size == 0);
        CHECK(motet_iprobe(comm, 1, 1, &status) == MOTET_EMPTY);
    }

    /* Long ones, which may be lent. */
    unsigned char *bytes = malloc(LONG), *room = malloc(LONG);
    for (int i = 0; i < LONG; i++)
        bytes[i] = (unsigned char)(i * (rank + 1));
    CHECK(motet_sendrecv(comm, bytes, LONG, right, 5, room, LONG, left, 5, &status) == MOTET_OK);
    memset(bytes, 0, LONG);
    for (int i = 0; i < LONG; i++)
        CHECK(room[i] == (unsigned char)(i * (left + 1)));
    free(bytes);
    free(room);

    /* A rank waits for a port as any thread does. */
    motet_port *port;
    motet_item *item;
    CHECK(motet_port_new(&port) == MOTET_OK);
    CHECK(motet_port_receive(port, 1, &item) == MOTET_TIMEOUT);
    CHECK(motet_port_post(port, &rank, sizeof rank) == MOTET_OK);
    CHECK(motet_port_receive(port, -1, &item) == MOTET_OK);
    motet_item_free(item);
    motet_port_free(port);
    return motet_run_threads(1, talk, ctx) != MOTET_IN_HANDLER;
}

int main(void)
{
    for (int ranks = 1; ranks <= 5; ranks++)
        CHECK(motet_run_threads(ranks, talk, &ranks) == MOTET_OK);
    return 0;
}
