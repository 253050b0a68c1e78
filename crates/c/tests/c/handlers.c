/* Handlers run on threads of the dispatcher; what would wait there is refused. */
#include "check.h"
#include <pthread.h>
#include <stdatomic.h>

static pthread_t main_thread;
static atomic_int handled, functions;

static void handle(void *ctx, const void *data, size_t size)
{
    (void)ctx;
    CHECK(!pthread_equal(pthread_self(), main_thread));
    CHECK(size == sizeof(int));
    handled += *(const int *)data;
}

static int on_rank(motet_comm *comm, void *ctx) { return (void)ctx, comm == NULL; }

static void blocks(void *ctx)
{
    motet_dispatcher *dispatcher = ((void **)ctx)[0];
    motet_port *port = ((void **)ctx)[1], *full = ((void **)ctx)[2];
    motet_item *item;
    CHECK(!pthread_equal(pthread_self(), main_thread));
    CHECK(motet_port_receive(port, -1, &item) == MOTET_IN_HANDLER);
    SAYS("hold a thread of its dispatcher");
    CHECK(motet_port_post_wait(full, NULL, 0, -1) == MOTET_IN_HANDLER);
    CHECK(motet_dispatcher_wait_idle(dispatcher) == MOTET_IN_HANDLER);
    CHECK(motet_dispatcher_free(dispatcher) == MOTET_IN_HANDLER);
    CHECK(motet_run_threads(2, on_rank, NULL) == MOTET_IN_HANDLER);
    CHECK(motet_port_test(port, &item) == MOTET_EMPTY);
    functions++;
}

static void count(void *ctx) { ++*(atomic_int *)ctx; }

int main(void)
{
    motet_dispatcher *dispatcher;
    motet_queue *queue, *small;
    motet_port *port, *single, *full;
    motet_arbiter *all, *one;
    main_thread = pthread_self();
    CHECK(motet_dispatcher_new(2, &dispatcher) == MOTET_OK);
    CHECK(motet_queue_new(dispatcher, "q", 0, &queue) == MOTET_OK);
    CHECK(motet_port_new(&port) == MOTET_OK && motet_port_new(&single) == MOTET_OK);
    CHECK(motet_port_bounded(1, MOTET_WAIT_FOR_ROOM, &full) == MOTET_OK);

    CHECK(motet_receive(port, 0, handle, NULL, NULL, &all) == MOTET_OK);
    CHECK(motet_arbiter_activate(all, queue) == MOTET_OK);
    for (int i = 1; i <= 1000; i++)
        CHECK(motet_port_post(port, &i, sizeof i) == MOTET_OK);
    CHECK(motet_dispatcher_wait_idle(dispatcher) == MOTET_OK && handled == 500500);

    /* Once is once. */
    CHECK(motet_receive(single, 1, handle, NULL, NULL, &one) == MOTET_OK);
    CHECK(motet_arbiter_activate(one, queue) == MOTET_OK);
    int ten = 10;
    CHECK(motet_port_post(single, &ten, sizeof ten) == MOTET_OK);
    CHECK(motet_port_post(single, &ten, sizeof ten) == MOTET_OK);
    CHECK(motet_dispatcher_wait_idle(dispatcher) == MOTET_OK && handled == 500510);
    CHECK(motet_arbiter_is_active(one) == 0);
    motet_counters counted;
    CHECK(motet_port_counters(single, &counted) == MOTET_OK && counted.waiting == 1);

    /* What is deactivated takes nothing more; freeing the handle alone changes nothing. */
    motet_item *text;
    CHECK(motet_dispatcher_waiting(dispatcher, &text) == MOTET_OK);
    CHECK(strlen(motet_item_data(text)) + 1 == motet_item_size(text));
    motet_item_free(text);
    CHECK(motet_arbiter_deactivate(all) == MOTET_OK);
    CHECK(motet_port_post(port, &ten, sizeof ten) == MOTET_OK);
    CHECK(motet_dispatcher_wait_idle(dispatcher) == MOTET_OK && handled == 500510);
    motet_arbiter_free(all);
    CHECK(motet_receive(port, 0, handle, NULL, NULL, &all) == MOTET_OK);
    CHECK(motet_arbiter_activate(all, queue) == MOTET_OK);
    motet_arbiter_free(all);
    CHECK(motet_port_post(port, &ten, sizeof ten) == MOTET_OK);
    CHECK(motet_dispatcher_wait_idle(dispatcher) == MOTET_OK && handled == 500530);

    /* Waiting is refused where it would hold a thread. */
    motet_item *item;
    CHECK(motet_port_post(full, NULL, 0) == MOTET_OK);
    motet_port *empty;
    CHECK(motet_port_new(&empty) == MOTET_OK);
    void *ctx[3] = {dispatcher, empty, full};
    CHECK(motet_queue_enqueue(queue, blocks, ctx, NULL) == MOTET_OK);
    CHECK(motet_dispatcher_wait_idle(dispatcher) == MOTET_OK && functions == 1);
    CHECK(motet_port_test(full, &item) == MOTET_OK);
    motet_item_free(item);

    /* A queue with a depth refuses; a suspended one starts nothing. */
    atomic_int ran = 0, released = 0;
    CHECK(motet_queue_new(dispatcher, "small", 1, &small) == MOTET_OK);
    CHECK(motet_queue_suspend(small) == MOTET_OK);
    CHECK(motet_queue_enqueue(small, count, &ran, NULL) == MOTET_OK);
    CHECK(motet_queue_enqueue(small, count, &released, count) == MOTET_FULL && released == 1);
    CHECK(motet_dispatcher_wait_idle(dispatcher) == MOTET_OK && ran == 0);
    CHECK(motet_queue_resume(small) == MOTET_OK);
    CHECK(motet_dispatcher_free(dispatcher) == MOTET_OK && ran == 1);
    CHECK(motet_queue_enqueue(queue, count, &released, count) == MOTET_STOPPED && released == 2);
    motet_queue_free(queue);
    motet_queue_free(small);
    motet_arbiter_free(one);
    motet_port_free(port);
    motet_port_free(single);
    motet_port_free(full);
    motet_port_free(empty);
    return 0;
}
