/* What the programs share: arguments and the line that says what was measured. */
#ifndef MOTET_PEER_H
#define MOTET_PEER_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* So many rounds at least: the barrier after them is measured too. */
#define LEAST 20

static int rank, size;
/* The work of a round without its messages, in us, where it was measured too. */
static double work_us;

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

static void begin(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
}

/* Runs rounds until `least` and as many as last at least half the budget (in us) have run, and gives their number
 * and the longest time over the processes. All that ran before them were fewer: the library has set up
 * what it needs, and the rounds that count are as many as a warm one lasts. The clock runs until all
 * processes have done all: one that waits for nobody may be done before another one has had its turn. */
static double measure(void (*run)(long rounds), long least, double budget, long *rounds)
{
    double longest;
    *rounds = 2;
    for (int tries = 0;; tries++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double started = MPI_Wtime();
        run(*rounds);
        MPI_Barrier(MPI_COMM_WORLD);
        double us = (MPI_Wtime() - started) * 1e6;
        MPI_Allreduce(&us, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        /* Once for nothing in any case. */
        if (tries > 0 && *rounds >= least && longest >= budget / 2)
            return longest;
        double fit = longest > 0 ? budget / longest : 10;
        long next = (long)((double)*rounds * (fit > 10 ? 10 : fit));
        long more = tries > 0 ? 2 * *rounds : *rounds;
        *rounds = next > more ? next : more;
        if (*rounds < least)
            *rounds = least;
    }
}

/* Process 0 prints the time of a round, and whose MPI it was. */
static void finish(double us, long rounds)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(version, &length);
    version[strcspn(version, "\n,")] = 0;
    for (char *at = version; *at; at++)
        if (*at == '"' || *at == '\\' || *at < ' ')
            *at = ' ';
    if (rank == 0)
        printf("{\"us\": %.6f, \"work_us\": %.6f, \"rounds\": %ld, \"processes\": %d, \"mpi\": \"%s\"}\n",
               us / (double)rounds, work_us, rounds, size, version);
    MPI_Finalize();
}

#endif
