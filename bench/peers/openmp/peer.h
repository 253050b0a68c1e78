/* What the programs share: arguments, and as many rounds as last long enough. */
#ifndef MOTET_OPENMP_H
#define MOTET_OPENMP_H

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long number(const char *text)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (*end != 0 || end == text || value < 0) {
        fprintf(stderr, "not a number: %s\n", text);
        exit(2);
    }
    return value;
}

/* How the loops are split: the variable of OpenMP that `schedule(runtime)` reads. */
static void split(const char *name)
{
    if (strcmp(name, "static") == 0)
        omp_set_schedule(omp_sched_static, 0);
    else if (strcmp(name, "dynamic") == 0)
        omp_set_schedule(omp_sched_dynamic, 1);
    else {
        fprintf(stderr, "not static or dynamic: %s\n", name);
        exit(2);
    }
}

/* The time of a round in us, of as many rounds as last at least half the budget (in us); those before them were
 * fewer, and warmed up. */
static double measure(void (*round)(void), double budget)
{
    for (long rounds = 1;; rounds *= 2) {
        double started = omp_get_wtime();
        for (long i = 0; i < rounds; i++)
            round();
        double us = (omp_get_wtime() - started) * 1e6;
        if (rounds > 1 && us >= budget / 2)
            return us / (double)rounds;
    }
}

#endif
