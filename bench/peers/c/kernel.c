/* The clustering kernel between synchronisations, by threads that are bound to cores:
 * kernel THREADS POINTS CLUSTERS SYNCHRONISATIONS.
 *
 * Each thread has so many points of its own in the plane, the same ones, and computes one step of annealing with so many
 * clusters over them: for each point its nearness to each centre, and the sums of what belongs to each. Then all meet,
 * and so on. Prints the mean of the times of all threads and synchronisations, which are not counted, and their standard
 * deviation over the mean as JSON. */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define TEMPERATURE 0.01

static long threads, points, clusters, synchronisations;
static pthread_barrier_t meeting;
static double *times;

static double now_us(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static void step(const double *own, const double *centres, double *near, double *sums)
{
    for (long i = 0; i < 3 * clusters; i++)
        sums[i] = 0;
    for (long at = 0; at < points; at++) {
        double x = own[2 * at], y = own[2 * at + 1], all = 0;
        for (long k = 0; k < clusters; k++) {
            double dx = x - centres[2 * k], dy = y - centres[2 * k + 1];
            near[k] = exp(-(dx * dx + dy * dy) / TEMPERATURE);
            all += near[k];
        }
        for (long k = 0; k < clusters; k++) {
            double part = all > 0 ? near[k] / all : 0;
            sums[3 * k] += part * x;
            sums[3 * k + 1] += part * y;
            sums[3 * k + 2] += part;
        }
    }
}

static void *run(void *argument)
{
    long me = (long)argument, cores = sysconf(_SC_NPROCESSORS_ONLN);
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((int)(me % cores), &set);
    /* A machine that does not allow it is measured unbound. */
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
    double *own = malloc(sizeof(double) * (size_t)(2 * points + 6 * clusters));
    if (!own)
        exit(1);
    double *centres = own + 2 * points, *near = centres + 2 * clusters, *sums = near + clusters;
    unsigned long state = 1;
    for (long i = 0; i < 2 * points; i++) {
        state = state * 6364136223846793005UL + 1442695040888963407UL;
        own[i] = (double)(state >> 11) / 9007199254740992.0;
    }
    for (long i = 0; i < 2 * clusters; i++)
        centres[i] = own[i % (2 * points)];
    /* The first tenth warms up. */
    long warm = (synchronisations + 9) / 10;
    for (long at = -warm; at < synchronisations; at++) {
        pthread_barrier_wait(&meeting);
        double started = now_us();
        step(own, centres, near, sums);
        if (at >= 0)
            times[me * synchronisations + at] = now_us() - started;
    }
    volatile double kept = sums[0];
    (void)kept;
    free(own);
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "kernel THREADS POINTS CLUSTERS SYNCHRONISATIONS\n");
        return 2;
    }
    threads = atol(argv[1]);
    points = atol(argv[2]);
    clusters = atol(argv[3]);
    synchronisations = atol(argv[4]);
    if (threads < 1 || points < 1 || clusters < 1 || synchronisations < 1) {
        fprintf(stderr, "not numbers that can be used\n");
        return 2;
    }
    long count = threads * synchronisations;
    times = calloc((size_t)count, sizeof(double));
    pthread_t *all = calloc((size_t)threads, sizeof(pthread_t));
    if (!times || !all || pthread_barrier_init(&meeting, NULL, (unsigned)threads))
        return 1;
    for (long me = 0; me < threads; me++)
        if (pthread_create(&all[me], NULL, run, (void *)me)) {
            fprintf(stderr, "thread %ld does not start\n", me);
            return 1;
        }
    for (long me = 0; me < threads; me++)
        pthread_join(all[me], NULL);
    double mean = 0, squares = 0;
    for (long i = 0; i < count; i++)
        mean += times[i] / (double)count;
    for (long i = 0; i < count; i++)
        squares += (times[i] - mean) * (times[i] - mean) / (double)count;
    printf("{\"mean_us\": %.3f, \"deviation\": %.6f}\n", mean, sqrt(squares) / mean);
    return 0;
}
