/* Two philosophers, two forks: each takes both forks or none, so they never wait for each other with
 * one fork in hand.
 *
 *   forks[0], forks[1] -> motet_join -> eat (puts both forks back)
 */
#include <assert.h>
#include <motet.h>
#include <stdio.h>

#define MEALS 1000

typedef struct philosopher {
    int number, meals;
    motet_port *forks[2], *full;
} philosopher;

static void eat(void *ctx, const motet_bytes *items, size_t count)
{
    philosopher *who = ctx;
    assert(count == 2 && items[0].size == 0 && items[1].size == 0);
    /* The forks are in no port now, so nobody else eats. */
    if (++who->meals == MEALS)
        motet_port_post(who->full, &who->number, sizeof who->number);
    motet_port_post(who->forks[0], NULL, 0);
    motet_port_post(who->forks[1], NULL, 0);
}

int main(void)
{
    motet_dispatcher *dispatcher;
    motet_queue *queue;
    motet_port *left, *right, *full;
    if (motet_dispatcher_new(2, &dispatcher) || motet_queue_new(dispatcher, "table", 0, &queue) ||
        motet_port_new(&left) || motet_port_new(&right) || motet_port_new(&full)) {
        fprintf(stderr, "%s\n", motet_error_message());
        return 1;
    }

    /* They name the forks in opposite order. */
    philosopher both[2] = {{0, 0, {left, right}, full}, {1, 0, {right, left}, full}};
    motet_arbiter *joins[2];
    for (int i = 0; i < 2; i++) {
        if (motet_join(both[i].forks, 2, 0, eat, &both[i], NULL, &joins[i]) ||
            motet_arbiter_activate(joins[i], queue)) {
            fprintf(stderr, "%s\n", motet_error_message());
            return 1;
        }
    }
    motet_port_post(left, NULL, 0);
    motet_port_post(right, NULL, 0);

    /* Who has had enough leaves the table; the other has the forks alone then. */
    for (int i = 0; i < 2; i++) {
        motet_item *item;
        motet_code code = motet_port_receive(full, -1, &item);
        assert(code == MOTET_OK);
        motet_arbiter_deactivate(joins[*(const int *)motet_item_data(item)]);
        motet_item_free(item);
    }
    motet_dispatcher_free(dispatcher);
    printf("both have had %d meals or more\n", MEALS);
    assert(both[0].meals >= MEALS && both[1].meals >= MEALS);

    for (int i = 0; i < 2; i++)
        motet_arbiter_free(joins[i]);
    motet_queue_free(queue);
    motet_port_free(left);
    motet_port_free(right);
    motet_port_free(full);
    return 0;
}
