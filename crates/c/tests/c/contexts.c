/* A context is released once, when its handler will not be called again. */
#include "check.h"
#include <stdatomic.h>

typedef struct context {
    atomic_int calls, releases;
} context;

static void handle(void *ctx, const void *data, size_t size)
{
    (void)data, (void)size;
    context *own = ctx;
    CHECK(own->releases == 0);
    own->calls++;
}

static void handle_all(void *ctx, const motet_bytes *items, size_t count)
{
    (void)items, (void)count;
    handle(ctx, NULL, 0);
}

static void call(void *ctx) { handle(ctx, NULL, 0); }

static void release(void *ctx) { ((context *)ctx)->releases++; }

int main(void)
{
    enum { ONCE, ALWAYS, NEVER, JOIN, AFTER, TAKEN, LOST, FUNCTION, PART, REFUSED, ALL };
    context of[ALL] = {0};
    motet_dispatcher *dispatcher;
    motet_queue *queue;
    motet_port *port, *other;
    motet_arbiter *once, *always, *never, *join, *after, *branches[2], *choice, *part;
    motet_interleave *interleave;
    CHECK(motet_dispatcher_new(2, &dispatcher) == MOTET_OK);
    CHECK(motet_queue_new(dispatcher, "q", 0, &queue) == MOTET_OK);
    CHECK(motet_port_new(&port) == MOTET_OK && motet_port_new(&other) == MOTET_OK);
    motet_port *both[2] = {port, other};

    /* A receive that takes once has released its context when it has run. */
    CHECK(motet_receive(port, 1, handle, &of[ONCE], release, &once) == MOTET_OK);
    CHECK(motet_arbiter_activate(once, queue) == MOTET_OK && of[ONCE].releases == 0);
    CHECK(motet_port_post(port, NULL, 0) == MOTET_OK);
    CHECK(motet_dispatcher_wait_idle(dispatcher) == MOTET_OK);
    motet_arbiter_free(once);
    CHECK(of[ONCE].calls == 1 && of[ONCE].releases == 1);

    /* A persistent one when it has been deactivated and its handle is gone. */
    CHECK(motet_receive(port, 0, handle, &of[ALWAYS], release, &always) == MOTET_OK);
    CHECK(motet_arbiter_activate(always, queue) == MOTET_OK);
    CHECK(motet_port_post(port, NULL, 0) == MOTET_OK && motet_port_post(port, NULL, 0) == MOTET_OK);
    CHECK(motet_dispatcher_wait_idle(dispatcher) == MOTET_OK);
    CHECK(of[ALWAYS].calls == 2 && of[ALWAYS].releases == 0);
    CHECK(motet_arbiter_deactivate(always) == MOTET_OK);
    motet_arbiter_free(always);
    CHECK(motet_dispatcher_wait_idle(dispatcher) == MOTET_OK);
    CHECK(of[ALWAYS].calls == 2 && of[ALWAYS].releases == 1);

    /* One that was never activated with its handle. */
    CHECK(motet_receive(port, 0, handle, &of[NEVER], release, &never) == MOTET_OK);
    motet_arbiter_free(never);
    CHECK(of[NEVER].calls == 0 && of[NEVER].releases == 1);

    CHECK(motet_join(both, 2, 1, handle_all, &of[JOIN], release, &join) == MOTET_OK);
    CHECK(motet_arbiter_activate(join, queue) == MOTET_OK);
    CHECK(motet_port_post(port, NULL, 0) == MOTET_OK && motet_port_post(other, NULL, 0) == MOTET_OK);
    CHECK(motet_dispatcher_wait_idle(dispatcher) == MOTET_OK);
    motet_arbiter_free(join);
    CHECK(of[JOIN].calls == 1 && of[JOIN].releases == 1);

    CHECK(motet_after(0, call, &of[AFTER], release, &after) == MOTET_OK);
    motet_arbiter_free(after);
    CHECK(of[AFTER].calls == 0 && of[AFTER].releases == 1);

    /* Both branches of a choice, one of which was called. */
    CHECK(motet_receive(port, 1, handle, &of[TAKEN], release, &branches[0]) == MOTET_OK);
    CHECK(motet_receive(other, 1, handle, &of[LOST], release, &branches[1]) == MOTET_OK);
    CHECK(motet_choice(branches, 2, &choice) == MOTET_OK);
    motet_arbiter_free(branches[0]);
    motet_arbiter_free(branches[1]);
    CHECK(motet_arbiter_activate(choice, queue) == MOTET_OK);
    CHECK(motet_port_post(port, NULL, 0) == MOTET_OK);
    CHECK(motet_dispatcher_wait_idle(dispatcher) == MOTET_OK);
    motet_arbiter_free(choice);
    CHECK(motet_dispatcher_wait_idle(dispatcher) == MOTET_OK);
    CHECK(of[TAKEN].calls == 1 && of[LOST].calls == 0);
    CHECK(of[TAKEN].releases == 1 && of[LOST].releases == 1);

    CHECK(motet_queue_enqueue(queue, call, &of[FUNCTION], release) == MOTET_OK);
    CHECK(motet_dispatcher_wait_idle(dispatcher) == MOTET_OK);
    CHECK(of[FUNCTION].calls == 1 && of[FUNCTION].releases == 1);

    /* A part with its interleave. */
    CHECK(motet_interleave_new(&interleave) == MOTET_OK);
    CHECK(motet_receive(port, 0, handle, &of[PART], release, &part) == MOTET_OK);
    CHECK(motet_interleave_exclusive(interleave, part) == MOTET_OK);
    motet_arbiter_free(part);
    CHECK(of[PART].releases == 0);
    motet_interleave_free(interleave);
    CHECK(of[PART].releases == 1);

    /* A call that fails leaves the context to its caller. */
    CHECK(motet_receive(NULL, 0, handle, &of[REFUSED], release, &part) == MOTET_NULL);
    CHECK(motet_join(NULL, 0, 0, handle_all, &of[REFUSED], release, &part) == MOTET_ARGUMENT);
    CHECK(of[REFUSED].releases == 0);

    motet_queue_free(queue);
    CHECK(motet_dispatcher_free(dispatcher) == MOTET_OK);
    motet_port_free(port);
    motet_port_free(other);
    for (int i = 0; i < REFUSED; i++)
        CHECK(of[i].releases == 1);
    return 0;
}
