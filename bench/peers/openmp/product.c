/* The product of two square matrices of doubles, in bands of rows.
 *
 * product SIZE THREADS static|dynamic BUDGET
 * prints the time of a product in us, and its checksum.
 *
 * The right factor is brought into panels of as many columns as fit two vectors, a stretch of inner indices at a time; a tile
 * of the product stays in registers over the whole stretch. Vectors are those of the compiler (vector_size), so
 * that one source is good for AVX-512, AVX2 and what comes. */
#include "peer.h"

#ifdef __AVX512F__
#define WIDTH 8 /* doubles in a vector */
#define ROWS 12 /* rows of a tile: 24 vectors of sums, of 32 registers */
#else
#define WIDTH 4
#define ROWS 6 /* 12 of 16 */
#endif
#define COLUMNS (2 * WIDTH)
#define STRETCH 256 /* inner indices: a panel of 32 KiB or less stays in the first cache */
#define BLOCK 192   /* rows of the left factor that stay in the second */
#define BANDS_PER_THREAD 4

typedef double vector __attribute__((vector_size(8 * WIDTH)));

static long size, bands, panels;
static double *left, *right, *product;
/* The stretch of the right factor in use: panels x STRETCH x COLUMNS, filled up with zeros. */
static double *packed;

static long least(long a, long b)
{
    return a < b ? a : b;
}

static void pack(long panel, long first, long depth)
{
    double *to = packed + panel * STRETCH * COLUMNS;
    for (long k = 0; k < depth; k++)
        for (long j = 0; j < COLUMNS; j++) {
            long column = panel * COLUMNS + j;
            to[k * COLUMNS + j] = column < size ? right[(first + k) * size + column] : 0;
        }
}

/* Rows of the left factor in the order in which tiles read them; where rows are missing the last one stands again. */
static void pack_rows(double *to, long row, long rows, long first, long depth)
{
    for (long i = 0; i < ROWS; i++) {
        const double *from = left + (row + least(i, rows - 1)) * size + first;
        for (long k = 0; k < depth; k++)
            to[k * ROWS + i] = from[k];
    }
}

/* Adds to a tile of `rows` rows (at most ROWS) what a stretch of inner indices gives. */
static void tile(const double *a, long row, long rows, long panel, long depth)
{
    vector sums[ROWS][2];
    for (long i = 0; i < ROWS; i++)
        sums[i][0] = sums[i][1] = (vector){0};
    const double *b = packed + panel * STRETCH * COLUMNS;
    for (long k = 0; k < depth; k++, a += ROWS, b += COLUMNS) {
        vector here = *(const vector *)b, there = *(const vector *)(b + WIDTH);
#pragma GCC unroll 16
        for (long i = 0; i < ROWS; i++) {
            sums[i][0] += a[i] * here;
            sums[i][1] += a[i] * there;
        }
    }
    long columns = least(COLUMNS, size - panel * COLUMNS);
    for (long i = 0; i < rows; i++) {
        double *to = product + (row + i) * size + panel * COLUMNS;
        for (long j = 0; j < columns; j++)
            to[j] += sums[i][j / WIDTH][j % WIDTH];
    }
}

static void band(long number, long first, long depth)
{
    /* BLOCK is a whole number of tiles in either form. */
    static __thread double rows[BLOCK * STRETCH];
    long end = size * (number + 1) / bands;
    for (long block = size * number / bands; block < end; block += BLOCK) {
        long until = least(end, block + BLOCK);
        for (long row = block; row < until; row += ROWS)
            pack_rows(rows + (row - block) * STRETCH, row, least(ROWS, until - row), first, depth);
        for (long panel = 0; panel < panels; panel++)
            for (long row = block; row < until; row += ROWS)
                tile(rows + (row - block) * STRETCH, row, least(ROWS, until - row), panel, depth);
    }
}

static void multiply(void)
{
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (long row = 0; row < size; row++)
            memset(product + row * size, 0, (size_t)size * sizeof *product);
        for (long first = 0; first < size; first += STRETCH) {
            long depth = least(STRETCH, size - first);
#pragma omp for schedule(static)
            for (long panel = 0; panel < panels; panel++)
                pack(panel, first, depth);
#pragma omp for schedule(runtime)
            for (long number = 0; number < bands; number++)
                band(number, first, depth);
        }
    }
}

static double *room(long count)
{
    void *memory;
    if (posix_memalign(&memory, 64, (size_t)count * sizeof(double)) != 0) {
        fprintf(stderr, "no memory\n");
        exit(1);
    }
    return memory;
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "product SIZE THREADS static|dynamic BUDGET\n");
        return 2;
    }
    size = number(argv[1]);
    long threads = number(argv[2]);
    omp_set_num_threads((int)threads);
    split(argv[3]);
    bands = least(size, strcmp(argv[3], "static") == 0 ? threads : threads * BANDS_PER_THREAD);
    panels = (size + COLUMNS - 1) / COLUMNS;
    left = room(size * size);
    right = room(size * size);
    product = room(size * size);
    packed = room(panels * STRETCH * COLUMNS);
    for (long i = 0; i < size; i++)
        for (long j = 0; j < size; j++) {
            left[i * size + j] = (double)((i * 7 + j * 3) % 11) - 5;
            right[i * size + j] = (double)((i * 5 + j * 13) % 7) - 3;
        }
    double us = measure(multiply, (double)number(argv[4]));
    double sum = 0;
    for (long i = 0; i < size; i++)
        for (long j = 0; j < size; j++)
            sum += product[i * size + j] * (double)((i % 3 + 1) * (j % 5 + 1));
    printf("{\"us\": %.6f, \"sum\": %.17g}\n", us, sum);
    return 0;
}
