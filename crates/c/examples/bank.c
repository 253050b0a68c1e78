/* A bank: balances are read by many at once, a transfer runs alone, and the bank closes last.
 *
 *   asks ------> concurrent: balance  \
 *   transfers -> exclusive: transfer   > motet_interleave -> the accounts, without a lock
 *   closing ---> teardown: close      /
 */
#include <assert.h>
#include <motet.h>
#include <stdio.h>

#define ACCOUNTS 8
#define TRANSFERS 1000

typedef struct bank {
    long accounts[ACCOUNTS];
    motet_port *sums;
} bank;

typedef struct transfer {
    int from, to;
    long amount;
} transfer;

/* The sum of all accounts: it would be wrong in the middle of a transfer. */
static void balance(void *ctx, const void *data, size_t size)
{
    bank *bank = ctx;
    long sum = 0;
    (void)data, (void)size;
    for (int i = 0; i < ACCOUNTS; i++)
        sum += bank->accounts[i];
    motet_port_post(bank->sums, &sum, sizeof sum);
}

static void move(void *ctx, const void *data, size_t size)
{
    bank *bank = ctx;
    const transfer *order = data;
    assert(size == sizeof *order);
    bank->accounts[order->from] -= order->amount;
    bank->accounts[order->to] += order->amount;
}

static void close_bank(void *ctx, const void *data, size_t size)
{
    bank *bank = ctx;
    (void)data, (void)size;
    motet_port_close(bank->sums);
}

int main(void)
{
    bank bank = {{0}, NULL};
    motet_dispatcher *dispatcher;
    motet_queue *queue;
    motet_port *asks, *transfers, *closing;
    motet_interleave *interleave;
    motet_arbiter *parts[3];
    for (int i = 0; i < ACCOUNTS; i++)
        bank.accounts[i] = 100;

    if (motet_dispatcher_new(2, &dispatcher) || motet_queue_new(dispatcher, "bank", 0, &queue) ||
        motet_port_new(&bank.sums) || motet_port_new(&asks) || motet_port_new(&transfers) ||
        motet_port_new(&closing) || motet_interleave_new(&interleave) ||
        motet_receive(asks, 0, balance, &bank, NULL, &parts[0]) ||
        motet_receive(transfers, 0, move, &bank, NULL, &parts[1]) ||
        motet_receive(closing, 1, close_bank, &bank, NULL, &parts[2]) ||
        motet_interleave_concurrent(interleave, parts[0]) ||
        motet_interleave_exclusive(interleave, parts[1]) ||
        motet_interleave_teardown(interleave, parts[2]) ||
        motet_interleave_activate(interleave, queue)) {
        fprintf(stderr, "%s\n", motet_error_message());
        return 1;
    }
    for (int i = 0; i < 3; i++)
        motet_arbiter_free(parts[i]);

    for (int i = 0; i < TRANSFERS; i++) {
        transfer order = {i % ACCOUNTS, (i * 3 + 1) % ACCOUNTS, i % 7};
        motet_port_post(transfers, &order, sizeof order);
        motet_port_post(asks, NULL, 0);
    }
    motet_dispatcher_wait_idle(dispatcher);
    motet_port_post(closing, NULL, 0);

    int sums = 0;
    motet_item *item;
    while (motet_port_receive(bank.sums, -1, &item) == MOTET_OK) {
        assert(*(const long *)motet_item_data(item) == 100 * ACCOUNTS);
        motet_item_free(item);
        sums++;
    }
    printf("%d sums, each of %d\n", sums, 100 * ACCOUNTS);
    assert(sums == TRANSFERS);

    motet_interleave_free(interleave);
    motet_queue_free(queue);
    motet_dispatcher_free(dispatcher);
    motet_port_free(bank.sums);
    motet_port_free(asks);
    motet_port_free(transfers);
    motet_port_free(closing);
    return 0;
}
