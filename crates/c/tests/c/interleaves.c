/* Exclusive handlers run beside no other; concurrent ones may; the teardown is the last. */
#include "check.h"
#include <stdatomic.h>

#define ITEMS 3000

static atomic_int readers, writers, reads, writes, ends;
/* No atomic: only exclusive handlers change it. */
static int state;

static void spin(void)
{
    for (volatile int i = 0; i < 200; i++)
        ;
}

static void on_read(void *ctx, const void *data, size_t size)
{
    (void)ctx, (void)data, (void)size;
    readers++;
    CHECK(writers == 0 && ends == 0);
    int before = state;
    spin();
    CHECK(state == before && writers == 0);
    reads++;
    readers--;
}

static void on_write(void *ctx, const void *data, size_t size)
{
    (void)ctx, (void)data, (void)size;
    CHECK(writers++ == 0 && readers == 0 && ends == 0);
    state++;
    spin();
    CHECK(readers == 0);
    writes++;
    writers--;
}

static void on_pair(void *ctx, const motet_bytes *items, size_t count)
{
    (void)items;
    CHECK(count == 2);
    on_write(ctx, NULL, 0);
}

static void on_end(void *ctx, const void *data, size_t size)
{
    (void)ctx, (void)data, (void)size;
    CHECK(readers == 0 && writers == 0);
    ends++;
}

int main(void)
{
    motet_dispatcher *dispatcher;
    motet_queue *queue;
    motet_port *ports[5];
    motet_arbiter *parts[4];
    motet_interleave *interleave;
    CHECK(motet_dispatcher_new(3, &dispatcher) == MOTET_OK);
    CHECK(motet_queue_new(dispatcher, "q", 0, &queue) == MOTET_OK);
    CHECK(motet_interleave_new(&interleave) == MOTET_OK);
    for (int i = 0; i < 5; i++)
        CHECK(motet_port_new(&ports[i]) == MOTET_OK);
    CHECK(motet_receive(ports[0], 0, on_read, NULL, NULL, &parts[0]) == MOTET_OK);
    CHECK(motet_receive(ports[1], 0, on_write, NULL, NULL, &parts[1]) == MOTET_OK);
    CHECK(motet_join(&ports[2], 2, 0, on_pair, NULL, NULL, &parts[2]) == MOTET_OK);
    CHECK(motet_receive(ports[4], 1, on_end, NULL, NULL, &parts[3]) == MOTET_OK);
    CHECK(motet_interleave_concurrent(interleave, parts[0]) == MOTET_OK);
    CHECK(motet_interleave_exclusive(interleave, parts[1]) == MOTET_OK);
    CHECK(motet_interleave_exclusive(interleave, parts[2]) == MOTET_OK);
    CHECK(motet_interleave_teardown(interleave, parts[3]) == MOTET_OK);
    CHECK(motet_interleave_activate(interleave, queue) == MOTET_OK);
    for (int i = 0; i < 4; i++) {
        CHECK(motet_arbiter_is_active(parts[i]) == 0);
        motet_arbiter_free(parts[i]);
    }

    for (int i = 0; i < ITEMS; i++)
        for (int port = 0; port < 4; port++)
            CHECK(motet_port_post(ports[port], NULL, 0) == MOTET_OK);
    CHECK(motet_dispatcher_wait_idle(dispatcher) == MOTET_OK);
    CHECK(reads == ITEMS && writes == 2 * ITEMS && state == 2 * ITEMS);
    CHECK(motet_interleave_is_active(interleave) == 1);

    CHECK(motet_port_post(ports[4], NULL, 0) == MOTET_OK);
    CHECK(motet_dispatcher_wait_idle(dispatcher) == MOTET_OK);
    CHECK(ends == 1 && motet_interleave_is_active(interleave) == 0);
    CHECK(motet_port_post(ports[0], NULL, 0) == MOTET_OK);
    CHECK(motet_dispatcher_wait_idle(dispatcher) == MOTET_OK && reads == ITEMS);

    motet_interleave_free(interleave);
    motet_queue_free(queue);
    CHECK(motet_dispatcher_free(dispatcher) == MOTET_OK);
    for (int i = 0; i < 5; i++)
        motet_port_free(ports[i]);
    return 0;
}
