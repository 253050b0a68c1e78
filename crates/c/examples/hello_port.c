/* A handler greets who is named to a port.
 *
 *   names -> motet_receive -> greet -> greetings
 */
#include <assert.h>
#include <motet.h>
#include <stdio.h>
#include <string.h>

static void greet(void *ctx, const void *data, size_t size)
{
    motet_port *greetings = ctx;
    char text[64];
    int length = snprintf(text, sizeof text, "hello %.*s", (int)size, (const char *)data);
    motet_port_post(greetings, text, (size_t)length);
}

int main(void)
{
    motet_dispatcher *dispatcher;
    motet_queue *queue;
    motet_port *names, *greetings;
    motet_arbiter *greeter;
    if (motet_dispatcher_new(2, &dispatcher) || motet_queue_new(dispatcher, "hello", 0, &queue) ||
        motet_port_new(&names) || motet_port_new(&greetings) ||
        motet_receive(names, 0, greet, greetings, NULL, &greeter) ||
        motet_arbiter_activate(greeter, queue)) {
        fprintf(stderr, "%s\n", motet_error_message());
        return 1;
    }

    motet_port_post(names, "motet", 5);
    motet_item *item;
    motet_code code = motet_port_receive(greetings, -1, &item);
    assert(code == MOTET_OK && motet_item_size(item) == 11);
    printf("%.*s\n", (int)motet_item_size(item), (const char *)motet_item_data(item));
    assert(memcmp(motet_item_data(item), "hello motet", 11) == 0);

    motet_item_free(item);
    motet_arbiter_free(greeter);
    motet_queue_free(queue);
    motet_dispatcher_free(dispatcher);
    motet_port_free(names);
    motet_port_free(greetings);
    return 0;
}
