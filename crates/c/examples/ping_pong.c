/* Two ranks send eight bytes to and fro. Prints microseconds for a round trip: the median of several
 * parts. Arguments: round trips in a part, and bytes. */
#include <assert.h>
#include <motet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PARTS 15

typedef struct job {
    int trips;
    size_t size;
    double us[PARTS];
} job;

static double now_us(void)
{
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

static int play(motet_comm *comm, void *ctx)
{
    job *job = ctx;
    int rank = motet_comm_rank(comm);
    unsigned char *ball = calloc(1, job->size);
    assert(ball != NULL && motet_comm_size(comm) == 2);
    /* The first part warms up. */
    for (int part = -1; part < PARTS; part++) {
        motet_code code = motet_barrier(comm);
        double begin = now_us();
        for (int i = 0; i < job->trips && code == MOTET_OK; i++) {
            if (rank == 0 && (code = motet_send(comm, ball, job->size, 1, 0)) == MOTET_OK)
                code = motet_recv(comm, ball, job->size, 1, 0, NULL);
            else if (rank == 1 && (code = motet_recv(comm, ball, job->size, 0, 0, NULL)) == MOTET_OK) {
                ball[0]++;
                code = motet_send(comm, ball, job->size, 0, 0);
            }
        }
        if (code != MOTET_OK) {
            fprintf(stderr, "%s\n", motet_error_message());
            free(ball);
            return 1;
        }
        if (rank == 0 && part >= 0)
            job->us[part] = (now_us() - begin) / job->trips;
    }
    assert(ball[0] == (unsigned char)((PARTS + 1) * job->trips));
    free(ball);
    return 0;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    job job = {argc > 1 ? atoi(argv[1]) : 20000, argc > 2 ? (size_t)atoi(argv[2]) : 8, {0}};
    if (job.trips < 1 || job.size < 1) {
        fprintf(stderr, "usage: ping_pong [round trips [bytes]]\n");
        return 2;
    }
    if (motet_run_threads(2, play, &job) != MOTET_OK) {
        fprintf(stderr, "%s\n", motet_error_message());
        return 1;
    }
    qsort(job.us, PARTS, sizeof *job.us, by_size);
    printf("%zu bytes: %.3f microseconds for a round trip\n", job.size, job.us[PARTS / 2]);
    return 0;
}
