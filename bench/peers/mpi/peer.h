/* What the programs share: arguments and the line that says what was measured. */
#ifndef MOTET_PEER_H
#define MOTET_PEER_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

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

/* Process 0 prints the longest time of a round over the processes, and whose MPI it was. */
static void finish(double seconds, long rounds)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    double longest;
    int length;
    MPI_Reduce(&seconds, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Get_library_version(version, &length);
    version[strcspn(version, "\n,")] = 0;
    for (char *at = version; *at; at++)
        if (*at == '"' || *at == '\\' || *at < ' ')
            *at = ' ';
    if (rank == 0)
        printf("{\"us\": %.6f, \"rounds\": %ld, \"processes\": %d, \"mpi\": \"%s\"}\n",
               longest * 1e6 / (double)rounds, rounds, size, version);
    MPI_Finalize();
}

#endif
