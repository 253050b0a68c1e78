/* A loop over blocks, each of some units of work: `parallel for`.
 *
 * loops BLOCKS THREADS UNITS TERMS static|dynamic BUDGET
 * prints the time of the loop in us, and the sum of the numbers of its blocks. */
#include "peer.h"

static long blocks, units, terms;
static double sum;

/* The series of motet's unit, in one chain: every term needs the one before and a division. */
static void compute(void)
{
    volatile double begin = 1.0;
    double x = begin;
    for (long unit = 0; unit < units; unit++)
        for (long term = 0; term < terms; term++)
            x = 1.0 / (1.0 + x);
    volatile double end = x;
    (void)end;
}

static void loop(void)
{
    double all = 0;
#pragma omp parallel for schedule(runtime) reduction(+ : all)
    for (long block = 0; block < blocks; block++) {
        compute();
        __asm__ volatile("" : : "r"(block) : "memory"); /* The body stays, also without units. */
        all += (double)block;
    }
    sum = all;
}

int main(int argc, char **argv)
{
    if (argc != 7) {
        fprintf(stderr, "loops BLOCKS THREADS UNITS TERMS static|dynamic BUDGET\n");
        return 2;
    }
    blocks = number(argv[1]);
    omp_set_num_threads((int)number(argv[2]));
    units = number(argv[3]);
    terms = number(argv[4]);
    split(argv[5]);
    double us = measure(loop, (double)number(argv[6]));
    printf("{\"us\": %.6f, \"sum\": %.17g}\n", us, sum);
    return 0;
}
