/* Stages with messages between them, by threads that are bound to cores: stages PATTERN PARALLEL STAGES UNITS TERMS WAIT.
 *
 *   pipeline             each thread sends one message to itself
 *   shift                each sends one to its right neighbour on a ring
 *   two-shifts           each sends two to its right neighbour, which needs both
 *   exchange             each sends one to each neighbour and needs one from each
 *   exchange-two-shifts  a shift to the left, then one to the right
 *
 * WAIT is spin, or locks: a mutex and a condition variable for each line, on which its reader sleeps.
 *
 * A message is one double in a cache line of its own, with the number of the stage that has written it: one line goes from
 * core to core, and nothing else. Prints the time from the first thread's start to the last one's end as JSON. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* So often a thread looks before it gives way, when there are more threads than cores. */
#define LOOKS 200

typedef struct {
    _Alignas(128) atomic_long stage;
    double value;
    pthread_mutex_t lock;
    pthread_cond_t came;
} line;

typedef struct {
    _Alignas(128) pthread_t thread;
    long at;
    double value;
    struct timespec started, ended;
} computation;

static long parallel, stages, units, terms, depth, cores;
static int pattern, locks;
static line *lines[2];
static computation *all;
static pthread_barrier_t ready;

static const char *patterns[] = {"pipeline", "shift", "two-shifts", "exchange", "exchange-two-shifts"};
enum { PIPELINE, SHIFT, TWO_SHIFTS, EXCHANGE, EXCHANGE_TWO_SHIFTS };

/* The unit of bench/src/unit.rs: x <- 1 / (1 + x), so many terms, so many times in one chain. */
static void compute(void)
{
    volatile double start = 1.0;
    double x = start;
    for (long unit = 0; unit < units; unit++)
        for (long term = 0; term < terms; term++)
            x = 1.0 / (1.0 + x);
    start = x;
}

/* A sender is at most `parallel` stages ahead of its receiver: who is further needs a message that has not come. */
static line *at(int side, long to, long stage)
{
    return &lines[side][to * depth + (stage & (depth - 1))];
}

static void post(int side, long to, long stage, double value)
{
    line *slot = at(side, to, stage);
    if (locks) {
        pthread_mutex_lock(&slot->lock);
        slot->value = value;
        atomic_store_explicit(&slot->stage, stage + 1, memory_order_relaxed);
        pthread_cond_signal(&slot->came);
        pthread_mutex_unlock(&slot->lock);
        return;
    }
    slot->value = value;
    /* Release: who sees the stage sees the value. */
    atomic_store_explicit(&slot->stage, stage + 1, memory_order_release);
}

static double receive(int side, long me, long stage)
{
    line *slot = at(side, me, stage);
    if (locks) {
        pthread_mutex_lock(&slot->lock);
        while (atomic_load_explicit(&slot->stage, memory_order_relaxed) != stage + 1)
            pthread_cond_wait(&slot->came, &slot->lock);
        double value = slot->value;
        pthread_mutex_unlock(&slot->lock);
        return value;
    }
    for (long looks = 0; atomic_load_explicit(&slot->stage, memory_order_acquire) != stage + 1; looks++) {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#endif
        if (parallel > cores && looks >= LOOKS) {
            sched_yield();
            looks = 0;
        }
    }
    return slot->value;
}

static void *run(void *argument)
{
    computation *me = argument;
    long left = (me->at + parallel - 1) % parallel, right = (me->at + 1) % parallel;
    double value = (double)me->at, other;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((int)(me->at % cores), &set);
    /* A machine that does not allow it is measured unbound. */
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
    pthread_barrier_wait(&ready);
    clock_gettime(CLOCK_MONOTONIC, &me->started);
    for (long stage = 0; stage < stages; stage++) {
        compute();
        switch (pattern) {
        case PIPELINE:
            post(0, me->at, stage, value);
            value = receive(0, me->at, stage);
            break;
        case SHIFT:
            post(0, right, stage, value);
            value = receive(0, me->at, stage);
            break;
        case TWO_SHIFTS:
            post(0, right, stage, value);
            post(1, right, stage, value);
            other = receive(0, me->at, stage);
            value = (other + receive(1, me->at, stage)) / 2;
            break;
        case EXCHANGE:
            post(0, right, stage, value);
            post(1, left, stage, value);
            other = receive(0, me->at, stage);
            value = (other + receive(1, me->at, stage)) / 2;
            break;
        default:
            post(1, left, stage, value);
            other = receive(1, me->at, stage);
            post(0, right, stage, value);
            value = (other + receive(0, me->at, stage)) / 2;
        }
    }
    clock_gettime(CLOCK_MONOTONIC, &me->ended);
    me->value = value;
    return NULL;
}

static long number(const char *text, long least)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (*end != 0 || end == text || value < least) {
        fprintf(stderr, "not a number that can be used: %s\n", text);
        exit(2);
    }
    return value;
}

static long long ns(struct timespec time)
{
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

int main(int argc, char **argv)
{
    if (argc != 7) {
        fprintf(stderr, "stages PATTERN PARALLEL STAGES UNITS TERMS WAIT\n");
        return 2;
    }
    for (pattern = 0; pattern < 5 && strcmp(argv[1], patterns[pattern]); pattern++)
        ;
    if (pattern == 5) {
        fprintf(stderr, "no pattern %s\n", argv[1]);
        return 2;
    }
    parallel = number(argv[2], 1);
    stages = number(argv[3], 1);
    units = number(argv[4], 0);
    terms = number(argv[5], 0);
    locks = !strcmp(argv[6], "locks");
    cores = sysconf(_SC_NPROCESSORS_ONLN);
    for (depth = 2; depth <= parallel; depth *= 2)
        ;
    for (int side = 0; side < 2; side++) {
        size_t bytes = sizeof(line) * (size_t)(parallel * depth);
        lines[side] = aligned_alloc(128, bytes);
        if (!lines[side])
            return 1;
        memset(lines[side], 0, bytes);
        for (long i = 0; i < parallel * depth; i++) {
            pthread_mutex_init(&lines[side][i].lock, NULL);
            pthread_cond_init(&lines[side][i].came, NULL);
        }
    }
    all = aligned_alloc(128, sizeof(computation) * (size_t)parallel);
    if (!all || pthread_barrier_init(&ready, NULL, (unsigned)parallel))
        return 1;
    for (long i = 0; i < parallel; i++) {
        all[i].at = i;
        if (pthread_create(&all[i].thread, NULL, run, &all[i])) {
            fprintf(stderr, "thread %ld does not start\n", i);
            return 1;
        }
    }
    long long first = 0, last = 0;
    double sum = 0, expected = (double)parallel * (double)(parallel - 1) / 2;
    for (long i = 0; i < parallel; i++) {
        pthread_join(all[i].thread, NULL);
        long long started = ns(all[i].started), ended = ns(all[i].ended);
        first = i == 0 || started < first ? started : first;
        last = ended > last ? ended : last;
        sum += all[i].value;
    }
    /* The values only move and mix: their sum stays. */
    if (sum - expected > 1e-6 * (expected + 1) || expected - sum > 1e-6 * (expected + 1)) {
        fprintf(stderr, "%f, not %f\n", sum, expected);
        return 1;
    }
    printf("{\"ns\": %lld}\n", last - first);
    return 0;
}
