/* A communicator belongs to the thread of its rank; the text of an error to the thread of the call. */
#include "check.h"
#include <pthread.h>

static void *use(void *comm)
{
    motet_comm *part;
    CHECK(strcmp(motet_error_message(), "") == 0);
    CHECK(motet_barrier(comm) == MOTET_THREAD);
    SAYS("thread of its rank");
    CHECK(motet_send(comm, NULL, 0, 0, 0) == MOTET_THREAD);
    CHECK(motet_comm_dup(comm, &part) == MOTET_THREAD && part == NULL);
    CHECK(motet_comm_free(comm) == MOTET_THREAD);
    return NULL;
}

static int body(motet_comm *comm, void *ctx)
{
    pthread_t other;
    (void)ctx;
    CHECK(motet_port_close(NULL) == MOTET_NULL);
    CHECK(pthread_create(&other, NULL, use, comm) == 0 && pthread_join(other, NULL) == 0);
    SAYS("motet_port_close");
    return motet_barrier(comm);
}

int main(void)
{
    CHECK(motet_run_threads(2, body, NULL) == MOTET_OK);
    CHECK(strcmp(motet_error_message(), "") == 0);
    return 0;
}
