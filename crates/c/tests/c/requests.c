/* Receives that are posted: their order, tests, and what ends them. */
#include "check.h"

static int talk(motet_comm *comm, void *ctx)
{
    int rank = motet_comm_rank(comm), size = motet_comm_size(comm), came = -1;
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    motet_status status;
    CHECK(size == *(int *)ctx);

    /* Receives that are posted first take messages in their order. */
    motet_request *posted[3] = {NULL}, *none = NULL;
    int got[3] = {0};
    CHECK(motet_irecv(comm, &got[0], sizeof(int), left, 6, &posted[0]) == MOTET_OK);
    CHECK(motet_irecv(comm, &got[1], sizeof(int), MOTET_ANY_SOURCE, 6, &posted[1]) == MOTET_OK);
    CHECK(motet_irecv(comm, &got[2], sizeof(int), MOTET_NOBODY, 6, &posted[2]) == MOTET_OK);
    CHECK(posted[0] && posted[1] && posted[2]);
    if (size > 1)
        CHECK(motet_test(&posted[0], &status) == MOTET_EMPTY && posted[0] != NULL);
    CHECK(motet_barrier(comm) == MOTET_OK);
    for (int i = 1; i <= 2; i++) {
        int message = 10 * rank + i;
        CHECK(motet_send(comm, &message, sizeof message, right, 6) == MOTET_OK);
    }
    CHECK(motet_wait(&posted[0], &status) == MOTET_OK && posted[0] == NULL);
    CHECK(got[0] == 10 * left + 1 && status.source == left && status.size == sizeof(int));
    CHECK(motet_waitall(posted, 3) == MOTET_OK && posted[1] == NULL && posted[2] == NULL);
    CHECK(got[1] == 10 * left + 2 && got[2] == 0);
    CHECK(motet_wait(&none, &status) == MOTET_OK && status.source == MOTET_NOBODY);
    CHECK(motet_test(&none, NULL) == MOTET_OK && motet_request_free(NULL) == MOTET_OK);
    CHECK(motet_wait(NULL, NULL) == MOTET_NULL);
    /* One that was given up takes nothing; one that is left is given up when the body returns. */
    CHECK(motet_irecv(comm, &got[0], sizeof(int), left, 7, &posted[0]) == MOTET_OK);
    CHECK(motet_request_free(posted[0]) == MOTET_OK);
    CHECK(motet_send(comm, &rank, sizeof rank, right, 7) == MOTET_OK);
    CHECK(motet_recv(comm, &came, sizeof came, left, 7, NULL) == MOTET_OK && came == left);
    CHECK(got[0] == 10 * left + 1);
    CHECK(motet_irecv(comm, &got[0], sizeof(int), left, 8, &posted[0]) == MOTET_OK);
    return 0;
}

int main(void)
{
    for (int ranks = 1; ranks <= 5; ranks++)
        CHECK(motet_run_threads(ranks, talk, &ranks) == MOTET_OK);
    return 0;
}
