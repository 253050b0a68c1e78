/* Errors are codes, each with a text; NULL is told. */
#include "check.h"

static void on_item(void *ctx, const void *data, size_t size) { (void)ctx, (void)data, (void)size; }
static void on_join(void *ctx, const motet_bytes *items, size_t n) { (void)ctx, (void)items, (void)n; }
static void on_call(void *ctx) { (void)ctx; }
static int on_rank(motet_comm *comm, void *ctx) { return (void)ctx, comm == NULL; }

static void null_ports(motet_port *port)
{
    motet_port *out;
    motet_item *item;
    char byte = 0;
    CHECK(motet_port_new(NULL) == MOTET_NULL);
    SAYS("motet_port_new");
    SAYS("`port` is NULL");
    CHECK(motet_port_bounded(1, MOTET_REJECT, NULL) == MOTET_NULL);
    CHECK(motet_port_bounded(0, MOTET_REJECT, &out) == MOTET_ARGUMENT && out == NULL);
    SAYS("`capacity` is 0");
    CHECK(motet_port_bounded(1, 9, &out) == MOTET_ARGUMENT && out == NULL);
    SAYS("`overflow` is 9");
    CHECK(motet_port_post(NULL, &byte, 1) == MOTET_NULL);
    CHECK(motet_port_post(port, NULL, 1) == MOTET_NULL);
    SAYS("`data` is NULL");
    CHECK(motet_port_post(port, &byte, SIZE_MAX) == MOTET_ARGUMENT);
    CHECK(motet_port_post_owned(NULL, &byte, 1, NULL) == MOTET_NULL);
    CHECK(motet_port_post_owned(port, NULL, 0, NULL) == MOTET_NULL);
    CHECK(motet_port_post_wait(NULL, &byte, 1, 0) == MOTET_NULL);
    CHECK(motet_port_test(NULL, &item) == MOTET_NULL);
    CHECK(motet_port_test(port, NULL) == MOTET_NULL);
    CHECK(motet_port_receive(NULL, 0, &item) == MOTET_NULL);
    CHECK(motet_port_receive(port, 0, NULL) == MOTET_NULL);
    CHECK(motet_port_close(NULL) == MOTET_NULL);
    CHECK(motet_port_is_closed(NULL) == 0);
    CHECK(motet_port_counters(NULL, NULL) == MOTET_NULL);
    CHECK(motet_item_data(NULL) == NULL && motet_item_size(NULL) == 0);
    motet_port_free(NULL);
    motet_item_free(NULL);
}

static void null_queues(motet_dispatcher *dispatcher, motet_queue *queue)
{
    motet_queue *out;
    motet_dispatcher *none;
    CHECK(motet_dispatcher_new(1, NULL) == MOTET_NULL);
    CHECK(motet_dispatcher_new(SIZE_MAX, &none) == MOTET_ARGUMENT && none == NULL);
    SAYS("at most 65536");
    CHECK(motet_dispatcher_threads(NULL) == 0);
    CHECK(motet_dispatcher_wait_idle(NULL) == MOTET_NULL);
    CHECK(motet_dispatcher_waiting(dispatcher, NULL) == MOTET_NULL);
    CHECK(motet_dispatcher_free(NULL) == MOTET_OK);
    CHECK(motet_queue_new(NULL, "x", 0, &out) == MOTET_NULL && out == NULL);
    CHECK(motet_queue_new(dispatcher, "x", 0, NULL) == MOTET_NULL);
    CHECK(motet_queue_new(dispatcher, "\xff", 0, &out) == MOTET_ARGUMENT);
    SAYS("UTF-8");
    CHECK(motet_queue_enqueue(NULL, on_call, NULL, NULL) == MOTET_NULL);
    CHECK(motet_queue_enqueue(queue, NULL, NULL, NULL) == MOTET_NULL);
    SAYS("`function` is NULL");
    CHECK(motet_queue_suspend(NULL) == MOTET_NULL && motet_queue_resume(NULL) == MOTET_NULL);
    motet_queue_free(NULL);
}

static void wrong_arbiters(motet_port *port, motet_queue *queue)
{
    motet_arbiter *out, *persistent;
    motet_port *twice[2] = {port, port}, *gap[2] = {port, NULL};
    CHECK(motet_receive(NULL, 1, on_item, NULL, NULL, &out) == MOTET_NULL && out == NULL);
    CHECK(motet_receive(port, 1, NULL, NULL, NULL, &out) == MOTET_NULL);
    CHECK(motet_receive(port, 1, on_item, NULL, NULL, NULL) == MOTET_NULL);
    CHECK(motet_join(twice, 2, 1, on_join, NULL, NULL, &out) == MOTET_ARGUMENT);
    CHECK(motet_join(NULL, 0, 1, on_join, NULL, NULL, &out) == MOTET_ARGUMENT);
    CHECK(motet_join(NULL, 2, 1, on_join, NULL, NULL, &out) == MOTET_NULL);
    CHECK(motet_join(gap, 2, 1, on_join, NULL, NULL, &out) == MOTET_NULL);
    SAYS("`ports[1]` is NULL");
    CHECK(motet_after(-1, on_call, NULL, NULL, &out) == MOTET_ARGUMENT);
    CHECK(motet_choice(NULL, 0, &out) == MOTET_ARGUMENT);

    CHECK(motet_receive(port, 0, on_item, NULL, NULL, &persistent) == MOTET_OK);
    CHECK(motet_choice(&persistent, 1, &out) == MOTET_ARGUMENT);
    SAYS("takes items once");
    CHECK(motet_arbiter_deactivate(persistent) == MOTET_ARGUMENT);
    CHECK(motet_arbiter_activate(NULL, queue) == MOTET_NULL);
    CHECK(motet_arbiter_activate(persistent, NULL) == MOTET_NULL);
    CHECK(motet_arbiter_activate(persistent, queue) == MOTET_OK);
    CHECK(motet_arbiter_is_active(persistent) == 1 && motet_arbiter_is_active(NULL) == 0);
    CHECK(motet_arbiter_activate(persistent, queue) == MOTET_USED);
    CHECK(motet_arbiter_deactivate(persistent) == MOTET_OK);
    CHECK(motet_arbiter_is_active(persistent) == 0);
    motet_arbiter_free(persistent);
    motet_arbiter_free(NULL);

    motet_interleave *interleave;
    CHECK(motet_interleave_new(NULL) == MOTET_NULL);
    CHECK(motet_interleave_new(&interleave) == MOTET_OK);
    CHECK(motet_receive(port, 0, on_item, NULL, NULL, &persistent) == MOTET_OK);
    CHECK(motet_interleave_concurrent(NULL, persistent) == MOTET_NULL);
    CHECK(motet_interleave_exclusive(interleave, NULL) == MOTET_NULL);
    CHECK(motet_interleave_teardown(interleave, persistent) == MOTET_ARGUMENT);
    CHECK(motet_interleave_exclusive(interleave, persistent) == MOTET_OK);
    CHECK(motet_interleave_exclusive(interleave, persistent) == MOTET_USED);
    CHECK(motet_arbiter_activate(persistent, queue) == MOTET_USED);
    CHECK(motet_interleave_deactivate(interleave) == MOTET_ARGUMENT);
    CHECK(motet_interleave_activate(interleave, queue) == MOTET_OK);
    CHECK(motet_interleave_activate(interleave, queue) == MOTET_USED);
    CHECK(motet_interleave_is_active(interleave) == 1 && motet_interleave_is_active(NULL) == 0);
    CHECK(motet_interleave_deactivate(interleave) == MOTET_OK);
    motet_arbiter_free(persistent);
    motet_interleave_free(interleave);
    motet_interleave_free(NULL);
}

static int wrong_messages(motet_comm *comm, void *ctx)
{
    double number = 0, odd[2] = {0, 0};
    char byte = 0;
    (void)ctx;
    CHECK(motet_send(NULL, &byte, 1, 0, 0) == MOTET_NULL);
    CHECK(motet_send(comm, NULL, 1, 0, 0) == MOTET_NULL);
    CHECK(motet_send(comm, &byte, 1, 5, 0) == MOTET_ARGUMENT);
    SAYS("there is no rank 5");
    CHECK(motet_send(comm, &byte, 1, MOTET_ANY_SOURCE, 0) == MOTET_ARGUMENT);
    CHECK(motet_send(comm, &byte, 1, 0, -1) == MOTET_ARGUMENT);
    SAYS("`tag` is -1");
    CHECK(motet_recv(comm, NULL, 1, 0, 0, NULL) == MOTET_NULL);
    CHECK(motet_bcast(comm, &byte, 1, -1) == MOTET_ARGUMENT);
    CHECK(motet_allreduce(comm, &number, NULL, 1, MOTET_DOUBLE, MOTET_SUM) == MOTET_NULL);
    CHECK(motet_allreduce(comm, &number, &number, 1, 7, MOTET_SUM) == MOTET_ARGUMENT);
    CHECK(motet_allreduce(comm, &number, &number, 1, MOTET_DOUBLE, 7) == MOTET_ARGUMENT);
    CHECK(motet_allreduce(comm, (char *)odd + 1, &number, 1, MOTET_DOUBLE, MOTET_SUM) ==
          MOTET_ARGUMENT);
    SAYS("not aligned");
    CHECK(motet_comm_rank(NULL) == -1 && motet_comm_size(NULL) == -1);
    CHECK(motet_comm_free(comm) == MOTET_ARGUMENT && motet_comm_free(NULL) == MOTET_OK);
    return 0;
}

int main(void)
{
    motet_dispatcher *dispatcher;
    motet_queue *queue;
    motet_port *port;
    motet_world *world;
    motet_item *item;
    CHECK(strcmp(motet_error_message(), "") == 0);
    CHECK(strlen(motet_version()) >= 5);
    CHECK(motet_dispatcher_new(1, &dispatcher) == MOTET_OK);
    CHECK(motet_dispatcher_threads(dispatcher) == 1);
    CHECK(motet_queue_new(dispatcher, NULL, 0, &queue) == MOTET_OK);
    CHECK(motet_port_new(&port) == MOTET_OK);
    null_ports(port);
    null_queues(dispatcher, queue);
    wrong_arbiters(port, queue);
    CHECK(motet_run_threads(1, NULL, NULL) == MOTET_NULL);
    CHECK(motet_run_current(NULL, NULL) == MOTET_NULL);
    CHECK(motet_world_threads(1, NULL) == MOTET_NULL && motet_world_current(NULL) == MOTET_NULL);
    CHECK(motet_world_run(NULL, on_rank, NULL) == MOTET_NULL && motet_world_size(NULL) == 0);
    CHECK(motet_world_threads(3, &world) == MOTET_OK && motet_world_size(world) == 3);
    CHECK(motet_world_run(world, on_rank, NULL) == MOTET_OK);
    CHECK(motet_world_run(world, on_rank, NULL) == MOTET_OK);
    motet_world_free(world);
    motet_world_free(NULL);
    CHECK(motet_world_threads(SIZE_MAX, &world) == MOTET_ARGUMENT && world == NULL);
    CHECK(motet_run_threads(SIZE_MAX, on_rank, NULL) == MOTET_ARGUMENT);
    SAYS("at most 65536");
    CHECK(motet_run_threads(2, wrong_messages, NULL) == MOTET_OK);

    /* Nothing there is no fault: the text stays. */
    motet_port_close(NULL);
    SAYS("motet_port_close");
    CHECK(motet_port_test(port, &item) == MOTET_EMPTY && item == NULL);
    SAYS("motet_port_close");

    CHECK(motet_dispatcher_free(dispatcher) == MOTET_OK);
    motet_arbiter *late;
    CHECK(motet_receive(port, 1, on_item, NULL, NULL, &late) == MOTET_OK);
    CHECK(motet_arbiter_activate(late, queue) == MOTET_STOPPED);
    CHECK(motet_arbiter_activate(late, queue) == MOTET_USED);
    motet_arbiter_free(late);
    motet_queue_free(queue);
    motet_port_free(port);
    return 0;
}
