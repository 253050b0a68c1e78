/* A join takes one item of each port, or none. */
#include "check.h"
#include <pthread.h>
#include <stdatomic.h>

#define ITEMS 2000

static atomic_int joined;
static atomic_llong sum;

/* The items came in the order of the ports, whichever was posted to first. */
static void pair(void *ctx, const motet_bytes *items, size_t count)
{
    (void)ctx;
    CHECK(count == 2 && items[0].size == sizeof(int) && items[1].size == sizeof(double));
    sum += *(const int *)items[0].data + (long long)*(const double *)items[1].data;
    joined++;
}

static void many(void *ctx, const motet_bytes *items, size_t count)
{
    CHECK(count == 5);
    for (size_t i = 0; i < count; i++)
        CHECK(items[i].size == 1 && *(const char *)items[i].data == (char)('a' + i));
    ++*(atomic_int *)ctx;
}

static motet_port *port(void)
{
    motet_port *port;
    CHECK(motet_port_new(&port) == MOTET_OK);
    return port;
}

static uint64_t waiting(motet_port *port)
{
    motet_counters counted;
    CHECK(motet_port_counters(port, &counted) == MOTET_OK);
    return counted.waiting;
}

static void *post_ints(void *port)
{
    for (int i = 0; i < ITEMS; i++)
        CHECK(motet_port_post(port, &i, sizeof i) == MOTET_OK);
    return NULL;
}

static void *post_doubles(void *port)
{
    for (int i = 0; i < ITEMS; i++) {
        double number = i;
        CHECK(motet_port_post(port, &number, sizeof number) == MOTET_OK);
    }
    return NULL;
}

int main(void)
{
    motet_dispatcher *dispatcher;
    motet_queue *queue;
    motet_arbiter *join, *rival, *five;
    CHECK(motet_dispatcher_new(2, &dispatcher) == MOTET_OK);
    CHECK(motet_queue_new(dispatcher, "q", 0, &queue) == MOTET_OK);
    motet_port *ints = port(), *doubles = port();
    motet_port *ports[2] = {ints, doubles};
    CHECK(motet_join(ports, 2, 0, pair, NULL, NULL, &join) == MOTET_OK);
    CHECK(motet_arbiter_activate(join, queue) == MOTET_OK);

    /* One is missing: the other stays where it is, for others. */
    int one = 1;
    CHECK(motet_port_post(ints, &one, sizeof one) == MOTET_OK);
    CHECK(motet_dispatcher_wait_idle(dispatcher) == MOTET_OK);
    CHECK(joined == 0 && waiting(ints) == 1);
    motet_item *item;
    CHECK(motet_port_test(ints, &item) == MOTET_OK);
    motet_item_free(item);

    /* Two joins want the same ports, in opposite order; two threads post. */
    CHECK(motet_join(ports, 2, 0, pair, NULL, NULL, &rival) == MOTET_OK);
    CHECK(motet_arbiter_activate(rival, queue) == MOTET_OK);
    pthread_t a, b;
    CHECK(pthread_create(&a, NULL, post_ints, ints) == 0);
    CHECK(pthread_create(&b, NULL, post_doubles, doubles) == 0);
    CHECK(pthread_join(a, NULL) == 0 && pthread_join(b, NULL) == 0);
    CHECK(motet_dispatcher_wait_idle(dispatcher) == MOTET_OK);
    CHECK(joined == ITEMS && sum == (long long)ITEMS * (ITEMS - 1));
    CHECK(waiting(ints) == 0 && waiting(doubles) == 0);

    /* Five ports, posted to from the last to the first. */
    motet_port *row[5];
    atomic_int fives = 0;
    for (int i = 0; i < 5; i++)
        row[i] = port();
    CHECK(motet_join(row, 5, 1, many, &fives, NULL, &five) == MOTET_OK);
    CHECK(motet_arbiter_activate(five, queue) == MOTET_OK);
    for (int i = 4; i >= 0; i--) {
        char letter = (char)('a' + i);
        CHECK(motet_dispatcher_wait_idle(dispatcher) == MOTET_OK && fives == 0);
        CHECK(motet_port_post(row[i], &letter, 1) == MOTET_OK);
    }
    CHECK(motet_dispatcher_wait_idle(dispatcher) == MOTET_OK && fives == 1);

    motet_arbiter_free(join);
    motet_arbiter_free(rival);
    motet_arbiter_free(five);
    motet_queue_free(queue);
    CHECK(motet_dispatcher_free(dispatcher) == MOTET_OK);
    for (int i = 0; i < 5; i++)
        motet_port_free(row[i]);
    motet_port_free(ints);
    motet_port_free(doubles);
    return 0;
}
