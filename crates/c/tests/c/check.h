/* What the programs of the tests share. */
#ifndef CHECK_H
#define CHECK_H

#include <motet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program when it does not hold. */
#define CHECK(holds)                                                                               \
    do {                                                                                           \
        if (!(holds)) {                                                                            \
            fprintf(stderr, "%s:%d: %s does not hold; last text: %s\n", __FILE__, __LINE__,        \
                    #holds, motet_error_message());                                                \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* The last text has this in it. */
#define SAYS(words) CHECK(strstr(motet_error_message(), words) != NULL)

#endif
