/* A choice takes what comes first, and nothing else. */
#include "check.h"
#include <stdatomic.h>

static void chosen(void *ctx, const void *data, size_t size)
{
    (void)data, (void)size;
    ++*(atomic_int *)ctx;
}

static void both(void *ctx, const motet_bytes *items, size_t count)
{
    (void)items;
    CHECK(count == 2);
    ++*(atomic_int *)ctx;
}

static void late(void *ctx) { ++*(atomic_int *)ctx; }

static uint64_t waiting(motet_port *port)
{
    motet_counters counted;
    CHECK(motet_port_counters(port, &counted) == MOTET_OK);
    return counted.waiting;
}

int main(void)
{
    motet_dispatcher *dispatcher;
    motet_queue *queue;
    motet_port *a, *b, *c;
    atomic_int of_a = 0, of_bc = 0, timeouts = 0;
    CHECK(motet_dispatcher_new(2, &dispatcher) == MOTET_OK);
    CHECK(motet_queue_new(dispatcher, "q", 0, &queue) == MOTET_OK);
    CHECK(motet_port_new(&a) == MOTET_OK && motet_port_new(&b) == MOTET_OK);
    CHECK(motet_port_new(&c) == MOTET_OK);
    motet_port *pair[2] = {b, c};

    /* An item of a, or one of each of b and c; c has none yet. */
    motet_arbiter *branches[2], *choice, *again;
    CHECK(motet_receive(a, 1, chosen, &of_a, NULL, &branches[0]) == MOTET_OK);
    CHECK(motet_join(pair, 2, 1, both, &of_bc, NULL, &branches[1]) == MOTET_OK);
    CHECK(motet_choice(branches, 2, &choice) == MOTET_OK);
    CHECK(motet_choice(branches, 2, &again) == MOTET_USED && again == NULL);
    CHECK(motet_arbiter_activate(branches[0], queue) == MOTET_USED);
    motet_arbiter_free(branches[0]);
    motet_arbiter_free(branches[1]);
    CHECK(motet_arbiter_activate(choice, queue) == MOTET_OK);
    CHECK(motet_port_post(b, NULL, 0) == MOTET_OK);
    CHECK(motet_dispatcher_wait_idle(dispatcher) == MOTET_OK);
    CHECK(of_a == 0 && of_bc == 0 && motet_arbiter_is_active(choice) == 1);
    CHECK(motet_port_post(a, NULL, 0) == MOTET_OK && motet_port_post(c, NULL, 0) == MOTET_OK);
    CHECK(motet_port_post(a, NULL, 0) == MOTET_OK);
    CHECK(motet_dispatcher_wait_idle(dispatcher) == MOTET_OK);
    CHECK(of_a == 1 && of_bc == 0 && motet_arbiter_is_active(choice) == 0);
    CHECK(waiting(a) == 1 && waiting(b) == 1 && waiting(c) == 1);
    motet_arbiter_free(choice);

    /* A plan that has found no place in a choice can be used: the second branch is persistent. */
    motet_arbiter *persistent;
    CHECK(motet_receive(a, 1, chosen, &of_a, NULL, &branches[0]) == MOTET_OK);
    CHECK(motet_receive(b, 0, chosen, &of_a, NULL, &persistent) == MOTET_OK);
    motet_arbiter *mixed[2] = {branches[0], persistent};
    CHECK(motet_choice(mixed, 2, &choice) == MOTET_ARGUMENT);
    CHECK(motet_arbiter_activate(branches[0], queue) == MOTET_OK);
    CHECK(motet_dispatcher_wait_idle(dispatcher) == MOTET_OK && of_a == 2);
    motet_arbiter_free(branches[0]);
    motet_arbiter_free(persistent);

    /* Nothing comes: the time does. */
    motet_port *told;
    motet_item *item;
    CHECK(motet_port_new(&told) == MOTET_OK);
    CHECK(motet_receive(a, 1, chosen, &of_a, NULL, &branches[0]) == MOTET_OK);
    CHECK(motet_after(1, late, &timeouts, NULL, &branches[1]) == MOTET_OK);
    CHECK(motet_choice(branches, 2, &choice) == MOTET_OK);
    motet_arbiter_free(branches[0]);
    motet_arbiter_free(branches[1]);
    CHECK(motet_arbiter_activate(choice, queue) == MOTET_OK);
    while (timeouts == 0)
        CHECK(motet_port_receive(told, 1, &item) == MOTET_TIMEOUT);
    CHECK(of_a == 2 && timeouts == 1);
    CHECK(motet_port_post(a, NULL, 0) == MOTET_OK);
    CHECK(motet_dispatcher_wait_idle(dispatcher) == MOTET_OK && of_a == 2 && waiting(a) == 1);

    motet_arbiter_free(choice);
    motet_queue_free(queue);
    CHECK(motet_dispatcher_free(dispatcher) == MOTET_OK);
    motet_port_free(a);
    motet_port_free(b);
    motet_port_free(c);
    motet_port_free(told);
    return 0;
}
