/* Memory that is given over is not copied, and is released once; when it is refused it stays. */
#include "check.h"
#include <stdatomic.h>

static atomic_int released;

static void release(void *data, size_t size)
{
    CHECK(size == 100);
    free(data);
    released++;
}

static void look(void *ctx, const void *data, size_t size)
{
    CHECK(data == *(void **)ctx && size == 100 && released == 1);
}

int main(void)
{
    motet_port *port;
    motet_item *item;
    motet_dispatcher *dispatcher;
    motet_queue *queue;
    motet_arbiter *arbiter;
    CHECK(motet_port_bounded(1, MOTET_REJECT, &port) == MOTET_OK);

    void *first = malloc(100), *second = malloc(100);
    CHECK(motet_port_post_owned(port, first, 100, release) == MOTET_OK);
    CHECK(motet_port_post_owned(port, second, 100, release) == MOTET_FULL && released == 0);
    CHECK(motet_port_test(port, &item) == MOTET_OK);
    CHECK(motet_item_data(item) == first && motet_item_size(item) == 100 && released == 0);
    motet_item_free(item);
    CHECK(released == 1);

    /* By a handler: it is released when that has returned. */
    CHECK(motet_dispatcher_new(1, &dispatcher) == MOTET_OK);
    CHECK(motet_queue_new(dispatcher, "q", 0, &queue) == MOTET_OK);
    CHECK(motet_receive(port, 1, look, &second, NULL, &arbiter) == MOTET_OK);
    CHECK(motet_arbiter_activate(arbiter, queue) == MOTET_OK);
    CHECK(motet_port_post_owned(port, second, 100, release) == MOTET_OK);
    CHECK(motet_dispatcher_wait_idle(dispatcher) == MOTET_OK);
    CHECK(released == 2);

    /* What is left in a port goes with it; memory without a release is not touched. */
    static int own = 5;
    CHECK(motet_port_post_owned(port, malloc(100), 100, release) == MOTET_OK);
    motet_arbiter_free(arbiter);
    motet_queue_free(queue);
    CHECK(motet_dispatcher_free(dispatcher) == MOTET_OK);
    motet_port_free(port);
    CHECK(released == 3);
    CHECK(motet_port_new(&port) == MOTET_OK);
    CHECK(motet_port_post_owned(port, &own, sizeof own, NULL) == MOTET_OK);
    CHECK(motet_port_close(port) == MOTET_OK);
    void *late = malloc(100);
    CHECK(motet_port_post_owned(port, late, 100, release) == MOTET_CLOSED && released == 3);
    free(late);
    motet_port_free(port);
    CHECK(own == 5);
    return 0;
}
