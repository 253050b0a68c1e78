/* Ports keep bytes in order; what they do when they are full or closed. */
#include "check.h"
#include <pthread.h>

static void expect(motet_port *port, int wanted)
{
    motet_item *item;
    CHECK(motet_port_test(port, &item) == MOTET_OK);
    CHECK(motet_item_size(item) == sizeof wanted);
    CHECK(*(const int *)motet_item_data(item) == wanted);
    motet_item_free(item);
}

static void post(motet_port *port, int number, motet_code wanted)
{
    CHECK(motet_port_post(port, &number, sizeof number) == wanted);
}

/* Bytes of any length come as they were posted, aligned for any type. */
static void lengths(void)
{
    motet_port *port;
    motet_item *item;
    unsigned char bytes[200];
    CHECK(motet_port_new(&port) == MOTET_OK);
    for (size_t size = 0; size <= sizeof bytes; size++) {
        memset(bytes, (int)size, sizeof bytes);
        CHECK(motet_port_post(port, bytes, size) == MOTET_OK);
    }
    memset(bytes, 0xAA, sizeof bytes);
    for (size_t size = 0; size <= sizeof bytes; size++) {
        CHECK(motet_port_test(port, &item) == MOTET_OK && motet_item_size(item) == size);
        const unsigned char *data = motet_item_data(item);
        CHECK(data != NULL && (uintptr_t)data % _Alignof(max_align_t) == 0);
        for (size_t i = 0; i < size; i++)
            CHECK(data[i] == (unsigned char)size);
        motet_item_free(item);
    }
    motet_port_free(port);
}

static void overflow(void)
{
    motet_port *port;
    motet_counters counted;
    CHECK(motet_port_bounded(2, MOTET_REJECT, &port) == MOTET_OK);
    post(port, 1, MOTET_OK), post(port, 2, MOTET_OK), post(port, 3, MOTET_FULL);
    SAYS("as many items as it may");
    CHECK(motet_port_counters(port, &counted) == MOTET_OK);
    CHECK(counted.posted == 2 && counted.waiting == 2 && counted.refused == 1);
    expect(port, 1), expect(port, 2);
    motet_port_free(port);

    CHECK(motet_port_bounded(2, MOTET_DROP_OLDEST, &port) == MOTET_OK);
    post(port, 1, MOTET_OK), post(port, 2, MOTET_OK), post(port, 3, MOTET_OK);
    expect(port, 2), expect(port, 3);
    CHECK(motet_port_counters(port, &counted) == MOTET_OK);
    CHECK(counted.posted == 3 && counted.taken == 2 && counted.dropped == 1);
    motet_port_free(port);

    CHECK(motet_port_bounded(1, MOTET_DROP_NEWEST, &port) == MOTET_OK);
    post(port, 1, MOTET_OK), post(port, 2, MOTET_OK);
    expect(port, 1);
    motet_port_free(port);
}

static void *take_two(void *port)
{
    motet_item *item;
    for (int i = 1; i <= 2; i++) {
        CHECK(motet_port_receive(port, -1, &item) == MOTET_OK);
        CHECK(*(const int *)motet_item_data(item) == i);
        motet_item_free(item);
    }
    return NULL;
}

static void waits(void)
{
    motet_port *port;
    motet_item *item;
    pthread_t taker;
    int one = 1, two = 2;
    CHECK(motet_port_bounded(1, MOTET_WAIT_FOR_ROOM, &port) == MOTET_OK);
    CHECK(motet_port_receive(port, 0, &item) == MOTET_TIMEOUT && item == NULL);
    CHECK(motet_port_receive(port, 5, &item) == MOTET_TIMEOUT);
    CHECK(motet_port_post_wait(port, &one, sizeof one, 0) == MOTET_OK);
    CHECK(motet_port_post_wait(port, &two, sizeof two, 5) == MOTET_TIMEOUT);
    CHECK(pthread_create(&taker, NULL, take_two, port) == 0);
    CHECK(motet_port_post_wait(port, &two, sizeof two, -1) == MOTET_OK);
    CHECK(pthread_join(taker, NULL) == 0);
    motet_port_free(port);
}

static void *wait_for_end(void *port)
{
    motet_item *item;
    CHECK(motet_port_receive(port, -1, &item) == MOTET_CLOSED && item == NULL);
    return NULL;
}

static void closed(void)
{
    motet_port *port;
    motet_item *item;
    pthread_t waiter;
    CHECK(motet_port_new(&port) == MOTET_OK && motet_port_is_closed(port) == 0);
    post(port, 7, MOTET_OK);
    CHECK(motet_port_close(port) == MOTET_OK && motet_port_is_closed(port) == 1);
    CHECK(motet_port_close(port) == MOTET_OK);
    post(port, 8, MOTET_CLOSED);
    SAYS("closed");
    CHECK(motet_port_post_wait(port, NULL, 0, -1) == MOTET_CLOSED);
    CHECK(motet_port_receive(port, -1, &item) == MOTET_OK);
    CHECK(*(const int *)motet_item_data(item) == 7);
    motet_item_free(item);
    CHECK(motet_port_receive(port, -1, &item) == MOTET_CLOSED);
    CHECK(motet_port_test(port, &item) == MOTET_EMPTY);
    motet_port_free(port);

    CHECK(motet_port_new(&port) == MOTET_OK);
    CHECK(pthread_create(&waiter, NULL, wait_for_end, port) == 0);
    CHECK(motet_port_close(port) == MOTET_OK);
    CHECK(pthread_join(waiter, NULL) == 0);
    motet_port_free(port);
}

int main(void)
{
    lengths();
    overflow();
    waits();
    closed();
    return 0;
}
