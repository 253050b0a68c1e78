/* What the programs share: arguments, the line that says what was measured, and answering line after line.
 *
 * With arguments a program measures once. Without, process 0 reads them from standard input, a line for each time, until
 * it ends: starting processes takes much longer than measuring them. The others sleep meanwhile, each in a
 * pipe of its own: in a broadcast they would spin, beside whoever is measured in between. */
#ifndef MOTET_PEER_H
#define MOTET_PEER_H

#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
static void told(double us, long rounds)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(version, &length);
    version[strcspn(version, "\n,")] = 0;
    for (char *at = version; *at; at++)
        if (*at == '"' || *at == '\\' || *at < ' ')
            *at = ' ';
    if (rank == 0) {
        printf("{\"us\": %.6f, \"work_us\": %.6f, \"rounds\": %ld, \"processes\": %d, \"mpi\": \"%s\"}\n",
               us / (double)rounds, work_us, rounds, size, version);
        fflush(stdout);
    }
}

/* What a program does, with its arguments as those of main: 0, or what the process ends with. */
static int perform(int argc, char **argv);

/* A line has so many bytes at most, with its end; a pipe takes it whole. */
#define LINE 256

/* Opens a pipe for each process but 0: `pipes` of process 0 are their ends to write to, that of another the one to
 * read from. */
static int open_pipes(int *pipes)
{
    int number = getpid(), failed = 0;
    char name[64];
    MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank > 0) {
        snprintf(name, sizeof name, "pipe-%d-%d", number, rank);
        failed = mkfifo(name, 0600) != 0 || (pipes[rank] = open(name, O_RDWR)) < 0;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int other = 1; rank == 0 && other < size; other++) {
        snprintf(name, sizeof name, "pipe-%d-%d", number, other);
        failed |= (pipes[other] = open(name, O_WRONLY | O_NONBLOCK)) < 0;
        unlink(name);
    }
    if (failed)
        perror("a pipe between the processes");
    return failed;
}

/* The next line on all processes; 0 when there is none. */
static int next_line(char *line, const int *pipes)
{
    if (rank > 0)
        return read(pipes[rank], line, LINE) == LINE && line[0] != 0;
    memset(line, 0, LINE);
    if (!fgets(line, LINE, stdin))
        line[0] = 0;
    line[strcspn(line, "\n")] = 0;
    for (int other = 1; other < size; other++)
        if (write(pipes[other], line, LINE) != LINE)
            return 0;
    return line[0] != 0;
}

static int serve(char *name)
{
    int *pipes = calloc((size_t)size, sizeof(int));
    char line[LINE];
    if (open_pipes(pipes))
        return 1;
    while (next_line(line, pipes)) {
        char *words[16] = {name};
        int count = 1, failed;
        for (char *word = strtok(line, " "); word && count < 15; word = strtok(NULL, " "))
            words[count++] = word;
        failed = perform(count, words);
        if (failed)
            return failed;
    }
    return 0;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int failed = argc > 1 ? perform(argc, argv) : serve(argv[0]);
    /* The launcher ends the others of one that has failed. */
    if (!failed)
        MPI_Finalize();
    return failed;
}

#endif
