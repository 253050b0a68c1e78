/* motet.h: ports, handlers and ranks for programs in C.
 *
 *   cc program.c -lmotet
 *
 * Two halves, which may be used together:
 *
 *   post -> motet_port -> motet_receive, motet_join, ... -> motet_queue -> motet_dispatcher -> handler
 *   motet_run_threads(4, body, ctx): body runs on 4 ranks, which send, receive and meet in collectives
 *
 * RESULTS. Nearly every function gives a motet_code. MOTET_OK is 0. After any other code but
 * MOTET_EMPTY, motet_error_message() says what has failed, where, and what to do. Functions that give
 * a number or a pointer give -1, 0 or NULL for a NULL handle.
 *
 * NULL. A NULL handle, a NULL function and NULL where a result is to be left give MOTET_NULL. NULL
 * data of size 0 is an empty item or message. The functions that free take NULL and do nothing.
 *
 * OWNERSHIP. A function that makes something leaves a handle where its last argument points, and NULL
 * there if it fails. The caller frees each handle once, with the function named `..._free`. A handle
 * must not be used after that, nor freed while another thread uses it. Freeing a handle of a port, a
 * queue, an arbiter or an interleave gives up the handle only: what is at work goes on.
 *
 * CALLBACKS. A handler is given with a context and, if that is to be released, a function for it:
 * `release` is called once with the context, on any thread, when the handler will not be called again.
 * It may be NULL. It must not use the arbiter that it belongs to. If a function fails that takes a
 * context, `release` is not called and the caller keeps the context; the exceptions are
 * motet_queue_enqueue and the two functions that activate, which have released what they could not
 * use. A callback must return: no longjmp and no exception of C++ may leave it.
 *
 * THREADS. Every function may be called on any thread, and with the same handle on several at once,
 * except those that take a motet_comm: a communicator belongs to the thread of its rank.
 *
 * BLOCKING. Only these wait: motet_port_receive, motet_port_post_wait, motet_dispatcher_wait_idle,
 * motet_dispatcher_free, those that run ranks, and those that take a motet_comm. In a handler those of
 * the first four that would wait give MOTET_IN_HANDLER, and so do those that run ranks. In the body of
 * a rank, only those that run ranks do.
 *
 * CANCELLATION. A wait with a limit that ends by MOTET_TIMEOUT has taken nothing: no item is lost. A
 * rank's wait ends early when the run does, with MOTET_STOPPED or MOTET_STUCK.
 */
#ifndef MOTET_H
#define MOTET_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------- results */

typedef enum motet_code {
    MOTET_OK = 0,
    MOTET_EMPTY = 1,      /* nothing is there; no fault, and no text */
    MOTET_NULL = 2,       /* an argument is NULL that must not be */
    MOTET_ARGUMENT = 3,   /* an argument is wrong */
    MOTET_CLOSED = 4,     /* the port is closed */
    MOTET_FULL = 5,       /* the port, the queue of its receiver, or a rank under a limit has no room */
    MOTET_TIMEOUT = 6,    /* the time is over */
    MOTET_IN_HANDLER = 7, /* the call would wait, in a handler */
    MOTET_USED = 8,       /* the arbiter is at work already, or a part of another */
    MOTET_STOPPED = 9,    /* the dispatcher has been freed, or the run of the ranks has ended */
    MOTET_THREAD = 10,    /* a communicator is used on another thread than its rank's */
    MOTET_TRUNCATED = 11, /* the message is longer than the room; it stays where it is */
    MOTET_COMM = 12,      /* ranks do not fit each other: for example, different collectives */
    MOTET_RANK = 13,      /* the body of a rank has returned something else than 0 */
    MOTET_STUCK = 14,     /* all ranks wait for each other; the text says who for whom */
    MOTET_START = 15,     /* threads or processes could not be started */
    MOTET_PANICKED = 16   /* a fault of motet */
} motet_code;

/* The text of the last call of this thread that has failed; "" if none has. It is valid until the
 * next call of this thread that fails. Never NULL. */
const char *motet_error_message(void);

/* The version of the library, "0.1.0" for example. */
const char *motet_version(void);

/* ---------------------------------------------------------------- items */

/* An item that was taken from a port: bytes. */
typedef struct motet_item motet_item;

/* Where its bytes are, aligned as malloc aligns, until it is freed. (Memory that was posted by
 * motet_port_post_owned is where it was.) NULL for NULL. */
const void *motet_item_data(const motet_item *item);
/* How many. 0 for NULL. */
size_t motet_item_size(const motet_item *item);
/* Frees the item, and calls the `release` of memory that was posted by motet_port_post_owned. */
void motet_item_free(motet_item *item);

/* ---------------------------------------------------------------- ports */

/* Takes items from anyone and keeps each until a receiver takes it, first in, first out. */
typedef struct motet_port motet_port;

/* What a port does with an item that nobody takes when it is full. */
typedef enum motet_overflow {
    MOTET_REJECT = 0,       /* refuses it: MOTET_FULL */
    MOTET_DROP_OLDEST = 1,  /* takes it, and drops the oldest */
    MOTET_DROP_NEWEST = 2,  /* drops it, and gives MOTET_OK */
    MOTET_WAIT_FOR_ROOM = 3 /* refuses it, but motet_port_post_wait waits */
} motet_overflow;

/* What has gone through a port: posted = taken + waiting + dropped; refused ones are in none. */
typedef struct motet_counters {
    uint64_t posted, taken, waiting, dropped, refused;
} motet_counters;

/* Makes a port without limit. Errors: MOTET_NULL. */
motet_code motet_port_new(motet_port **port);
/* Makes a port in which `capacity` items may wait, 1 at least; `overflow` is a motet_overflow.
 * Errors: MOTET_NULL, MOTET_ARGUMENT. */
motet_code motet_port_bounded(size_t capacity, int overflow, motet_port **port);
/* Gives the handle up. The port goes on while an arbiter is at work on it. */
void motet_port_free(motet_port *port);

/* Posts a copy of `size` bytes. Never waits. Items of one thread keep their order.
 * Errors: MOTET_NULL, MOTET_CLOSED, MOTET_FULL; MOTET_ARGUMENT for a size that memory cannot have. */
motet_code motet_port_post(const motet_port *port, const void *data, size_t size);
/* Posts memory of the caller without a copy: it belongs to the item from now on, whose end calls
 * `release(data, size)` on some thread (NULL: nothing is called). On any error the memory stays the
 * caller's, and `release` is not called. `data` is not NULL. Errors as motet_port_post. */
motet_code motet_port_post_owned(const motet_port *port, void *data, size_t size,
                                 void (*release)(void *data, size_t size));
/* Posts a copy of `size` bytes; waits for room if the port was made with MOTET_WAIT_FOR_ROOM, or if the
 * queue of the receiver is full. Below 0 milliseconds there is no limit.
 * Errors as motet_port_post, and MOTET_TIMEOUT, MOTET_IN_HANDLER: then nothing was posted. */
motet_code motet_port_post_wait(const motet_port *port, const void *data, size_t size,
                                int64_t milliseconds);
/* Takes the oldest item. Never waits. MOTET_EMPTY if there is none. Errors: MOTET_NULL. */
motet_code motet_port_test(const motet_port *port, motet_item **item);
/* Waits for an item and takes it. Below 0 milliseconds there is no limit.
 * Errors: MOTET_NULL, MOTET_TIMEOUT, MOTET_IN_HANDLER; MOTET_CLOSED when the port is closed and empty. */
motet_code motet_port_receive(const motet_port *port, int64_t milliseconds, motet_item **item);
/* Closes the port: it refuses posts from now on. What is in it can still be taken; who waits for more
 * gets MOTET_CLOSED. Closing it again does nothing. Errors: MOTET_NULL. */
motet_code motet_port_close(const motet_port *port);
/* 1 if the port is closed, otherwise 0. */
int motet_port_is_closed(const motet_port *port);
/* What has gone through the port. Errors: MOTET_NULL. */
motet_code motet_port_counters(const motet_port *port, motet_counters *counters);

/* ---------------------------------------------------------------- dispatchers and queues */

/* Threads that call handlers. */
typedef struct motet_dispatcher motet_dispatcher;
/* Where handlers wait for a thread. */
typedef struct motet_queue motet_queue;

/* A function that is called on a thread of a dispatcher, or that releases a context. */
typedef void (*motet_function)(void *ctx);

/* Starts a dispatcher with so many threads; 0: one for each core.
 * Errors: MOTET_NULL, MOTET_START; MOTET_ARGUMENT for more than 65,536. */
motet_code motet_dispatcher_new(size_t threads, motet_dispatcher **dispatcher);
/* The number of its threads. */
size_t motet_dispatcher_threads(const motet_dispatcher *dispatcher);
/* Waits until nothing is queued and nothing runs. (Queues that are suspended count as empty.)
 * Errors: MOTET_NULL, MOTET_IN_HANDLER. */
motet_code motet_dispatcher_wait_idle(const motet_dispatcher *dispatcher);
/* Which arbiters wait on which ports, as a text that ends in a zero byte; free it as an item.
 * Errors: MOTET_NULL. */
motet_code motet_dispatcher_waiting(const motet_dispatcher *dispatcher, motet_item **text);
/* Runs what is queued and what that queues, ends the threads and frees the dispatcher. Items whose
 * handlers could not run any more go back to their ports. Waits for handlers that run.
 * Errors: MOTET_IN_HANDLER: nothing was done then. */
motet_code motet_dispatcher_free(motet_dispatcher *dispatcher);

/* Makes a queue. `name` is UTF-8 and is copied; NULL: no name. A queue with a `depth` refuses what
 * comes when so many handlers wait; 0: it has no limit. Errors: MOTET_NULL, MOTET_ARGUMENT. */
motet_code motet_queue_new(const motet_dispatcher *dispatcher, const char *name, size_t depth,
                           motet_queue **queue);
/* Has function(ctx) called once on a thread of the dispatcher, then release(ctx). On MOTET_FULL and
 * MOTET_STOPPED only the latter has been called. Errors: those, and MOTET_NULL. */
motet_code motet_queue_enqueue(const motet_queue *queue, motet_function function, void *ctx,
                               motet_function release);
/* Starts nothing more of the queue until it is resumed. Errors: MOTET_NULL. */
motet_code motet_queue_suspend(const motet_queue *queue);
motet_code motet_queue_resume(const motet_queue *queue);
/* Gives the handle up; what is queued runs. */
void motet_queue_free(motet_queue *queue);

/* ---------------------------------------------------------------- arbiters */

/* Bytes of an item that a join hands over. */
typedef struct motet_bytes {
    const void *data;
    size_t size;
} motet_bytes;

/* Handles an item, whose bytes are there until it returns. A handler of a persistent receive may run
 * on several threads at once; an exclusive part of an interleave does not. */
typedef void (*motet_handler)(void *ctx, const void *data, size_t size);
/* Handles one item of each port of a join, in the order in which the ports were named. */
typedef void (*motet_join_handler)(void *ctx, const motet_bytes *items, size_t count);

/* Says when items are taken from ports, and by which handler. It is made, then either activated, or
 * made a part of a choice or an interleave; either can be done once. */
typedef struct motet_arbiter motet_arbiter;

/* Handles each item of the port; with `once` not 0, one item. Errors: MOTET_NULL. */
motet_code motet_receive(const motet_port *port, int once, motet_handler handler, void *ctx,
                         motet_function release, motet_arbiter **arbiter);
/* Handles one item of each of `count` ports together, as often as there are such; with `once` not 0,
 * one time. It takes all or none: while one port is empty, the items of the others stay there for
 * other receivers. Errors: MOTET_NULL; MOTET_ARGUMENT for no port, or one named twice. */
motet_code motet_join(motet_port *const *ports, size_t count, int once,
                      motet_join_handler handler, void *ctx, motet_function release,
                      motet_arbiter **arbiter);
/* Calls function(ctx) when so many milliseconds have passed: a branch of a choice, mostly.
 * Errors: MOTET_NULL; MOTET_ARGUMENT for a time below 0. */
motet_code motet_after(int64_t milliseconds, motet_function function, void *ctx,
                       motet_function release, motet_arbiter **arbiter);
/* The first of `count` arbiters that can run; the others take nothing. Each branch takes items once.
 * The handles of the branches stay the caller's, to be freed.
 * Errors: MOTET_NULL, MOTET_USED; MOTET_ARGUMENT for no branch, or a persistent one. */
motet_code motet_choice(motet_arbiter *const *branches, size_t count, motet_arbiter **arbiter);
/* Puts the arbiter to work; its handlers run by way of the queue.
 * Errors: MOTET_NULL, MOTET_USED; MOTET_STOPPED: the arbiter cannot be used any more then. */
motet_code motet_arbiter_activate(const motet_arbiter *arbiter, const motet_queue *queue);
/* Takes the arbiter off its ports: it takes nothing more. Handlers that have been queued still run.
 * Errors: MOTET_NULL, MOTET_USED for a part of another; MOTET_ARGUMENT if it was never activated. */
motet_code motet_arbiter_deactivate(const motet_arbiter *arbiter);
/* 1 while the arbiter can take items, otherwise 0; 0 for a part of another. */
int motet_arbiter_is_active(const motet_arbiter *arbiter);
/* Gives the handle up; an arbiter at work goes on. One that was never activated is gone. */
void motet_arbiter_free(motet_arbiter *arbiter);

/* Arbiters of which some run together, some alone, and one last. */
typedef struct motet_interleave motet_interleave;

/* Makes one without parts. Errors: MOTET_NULL. */
motet_code motet_interleave_new(motet_interleave **interleave);
/* Adds a part. Handlers of concurrent parts run beside each other; one of an exclusive part runs beside
 * no other of the interleave. The first teardown part that gets its item ends the interleave: its
 * handler runs alone, after all others. Teardown parts take items once. The handle of the part stays
 * the caller's, to be freed. Errors: MOTET_NULL, MOTET_USED; MOTET_ARGUMENT for a persistent teardown. */
motet_code motet_interleave_concurrent(const motet_interleave *interleave,
                                       const motet_arbiter *part);
motet_code motet_interleave_exclusive(const motet_interleave *interleave, const motet_arbiter *part);
motet_code motet_interleave_teardown(const motet_interleave *interleave, const motet_arbiter *part);
/* As motet_arbiter_activate. */
motet_code motet_interleave_activate(const motet_interleave *interleave, const motet_queue *queue);
/* As motet_arbiter_deactivate, for all parts. */
motet_code motet_interleave_deactivate(const motet_interleave *interleave);
/* 1 while the parts can take items, otherwise 0. */
int motet_interleave_is_active(const motet_interleave *interleave);
/* Gives the handle up; an interleave at work goes on. */
void motet_interleave_free(motet_interleave *interleave);

/* ---------------------------------------------------------------- ranks */

/* Ranks that run a function together. */
typedef struct motet_world motet_world;
/* Ranks that talk, as one of them sees them. */
typedef struct motet_comm motet_comm;

/* What runs on each rank. 0: it went well. Anything else ends the run of all ranks. `comm` and what is
 * made of it are freed when the body returns. `ctx` is the same for all ranks of the process, which use
 * it at the same time. */
typedef int (*motet_body)(motet_comm *comm, void *ctx);

/* Makes a world of so many ranks in this process, each with a thread of its own; 0: one for each core.
 * Errors: MOTET_NULL; MOTET_ARGUMENT for more than 65,536. */
motet_code motet_world_threads(size_t ranks, motet_world **world);
/* The world that the program was started in: all processes of `motet run`, mpiexec or srun; otherwise
 * this process alone, with a rank for each core. MOTET_THREADS in the environment says how many ranks a
 * process has. A process that has left it (by motet_world_free) cannot enter it again.
 * Errors: MOTET_NULL; MOTET_START when there is no MPI library, and others of that kind. */
motet_code motet_world_current(motet_world **world);
/* Lets at most so many messages of one rank to another wait there to be received, 1 at least, in runs
 * that begin later; there is no limit before. `overflow` says what motet_send does with one more:
 * MOTET_REJECT sends nothing and gives MOTET_FULL, MOTET_WAIT_FOR_ROOM waits until one has been received.
 * motet_sendrecv does not wait, and sends all the same with the latter. Collectives have bounds of their
 * own.
 * Errors: MOTET_NULL; MOTET_ARGUMENT for 0 messages, for another motet_overflow, and during a run. */
motet_code motet_world_limit(const motet_world *world, size_t messages, int overflow);
/* The number of ranks of this process. */
size_t motet_world_size(const motet_world *world);
/* Calls body(comm, ctx) on each rank, and waits until all have returned. A run of several processes is
 * begun by all of them. Runs of one world take turns.
 * Errors: MOTET_NULL, MOTET_START, MOTET_IN_HANDLER; MOTET_RANK when a body has returned something else
 * than 0, here or in another process; MOTET_STUCK when all ranks that have not ended wait for each other
 * (in a world of one process: in one of several, ranks that wait for each other wait for ever). */
motet_code motet_world_run(const motet_world *world, motet_body body, void *ctx);
/* Leaves the world. */
void motet_world_free(motet_world *world);

/* motet_world_threads, _run and _free in one. */
motet_code motet_run_threads(size_t ranks, motet_body body, void *ctx);
/* motet_world_current, _run and _free in one. */
motet_code motet_run_current(motet_body body, void *ctx);

/* All functions below are called on the thread of the rank. Errors of all that wait: MOTET_NULL;
 * MOTET_THREAD on another thread; MOTET_STOPPED when another rank has failed; MOTET_STUCK when all ranks
 * wait for each other; MOTET_ARGUMENT for a rank that does not exist; MOTET_COMM. */

#define MOTET_ANY_SOURCE (-1)
#define MOTET_ANY_TAG (-1)
/* A send to nobody is dropped, and a receive from nobody leaves the room as it is. */
#define MOTET_NOBODY (-2)

/* Of a message: who has sent it, with which tag, and how many bytes it has. */
typedef struct motet_status {
    int source;
    int tag;
    size_t size;
} motet_status;

/* The number of this rank, from 0. -1 for NULL. */
int motet_comm_rank(const motet_comm *comm);
/* The number of ranks. -1 for NULL. */
int motet_comm_size(const motet_comm *comm);

/* Sends a copy of `size` bytes with a tag, 0 at least. It does not wait for the receive, and `data` may
 * be changed after it. Messages from one rank to another that match the same receives keep their order. */
motet_code motet_send(const motet_comm *comm, const void *data, size_t size, int dest, int tag);
/* Waits for a message from `source` (or MOTET_ANY_SOURCE) with this tag (or MOTET_ANY_TAG), and copies it
 * to the room. It may be shorter than the room; `status` says how long it is, and may be NULL.
 * MOTET_TRUNCATED when it is longer: it stays there for another receive. */
motet_code motet_recv(const motet_comm *comm, void *room, size_t size, int source, int tag,
                      motet_status *status);
/* motet_send, then motet_recv. The room may be where the data are. */
motet_code motet_sendrecv(const motet_comm *comm, const void *data, size_t size, int dest,
                          int send_tag, void *room, size_t room_size, int source, int recv_tag,
                          motet_status *status);

/* A receive that was posted. It ends on the thread of its rank: in motet_wait, motet_waitall, motet_test,
 * motet_request_free, or when the body returns. */
typedef struct motet_request motet_request;

/* Posts such a receive, and does not wait. Nobody else uses the room until it has ended. Receives take
 * messages in the order in which they were posted. (motet_send does not wait either.) */
motet_code motet_irecv(const motet_comm *comm, void *room, size_t size, int source, int tag,
                       motet_request **request);
/* Waits for the message; `*request` is NULL then. It is MOTET_OK at once, with a status of MOTET_NOBODY,
 * if that is NULL before. Errors: as motet_recv. */
motet_code motet_wait(motet_request **request, motet_status *status);
/* The same for `count` of them; the first error, after all have ended. */
motet_code motet_waitall(motet_request **requests, size_t count);
/* As motet_wait, without waiting: MOTET_EMPTY while the message is not there. */
motet_code motet_test(motet_request **request, motet_status *status);
/* Gives a receive up; a message that has come for it is there for another. NULL is allowed. */
motet_code motet_request_free(motet_request *request);

/* Waits until a message is there for such a receive, and leaves it there. */
motet_code motet_probe(const motet_comm *comm, int source, int tag, motet_status *status);
/* The same without waiting: MOTET_EMPTY if none is there. */
motet_code motet_iprobe(const motet_comm *comm, int source, int tag, motet_status *status);

/* Collectives: all ranks of the communicator call the same ones in the same order, with the same sizes,
 * roots, types and operators; otherwise MOTET_COMM. */

/* Waits until all ranks have called it. */
motet_code motet_barrier(const motet_comm *comm);
/* Copies `size` bytes of the root to `data` of all ranks. */
motet_code motet_bcast(const motet_comm *comm, void *data, size_t size, int root);
/* Copies `size` bytes of each rank to `all` of the root, in the order of the ranks. There is room for
 * size * motet_comm_size bytes; on other ranks `all` may be NULL. */
motet_code motet_gather(const motet_comm *comm, const void *data, size_t size, void *all, int root);
/* The same, to `all` of all ranks. */
motet_code motet_allgather(const motet_comm *comm, const void *data, size_t size, void *all);
/* Copies to `part` of each rank its `size` bytes of the root's `all`; on other ranks `all` may be NULL. */
motet_code motet_scatter(const motet_comm *comm, const void *all, void *part, size_t size, int root);
/* Copies `size` bytes from each rank to each: those for rank i are at data + i * size, and those of rank i
 * come to came + i * size. The two must not overlap. */
motet_code motet_alltoall(const motet_comm *comm, const void *data, size_t size, void *came);

typedef enum motet_type { MOTET_INT32 = 0, MOTET_INT64 = 1, MOTET_DOUBLE = 2 } motet_type;
/* Integers wrap around. The least and the greatest of a NaN and another is the NaN. */
typedef enum motet_op { MOTET_SUM = 0, MOTET_PROD = 1, MOTET_MIN = 2, MOTET_MAX = 3 } motet_op;

/* Combines `count` numbers of all ranks, place by place, in the order of the ranks, to `totals` of the
 * root; on other ranks `totals` may be NULL. Runs with as many ranks give the same bits each time, and the
 * same as in Rust. `totals` may be `numbers`. `type` is a motet_type and `op` a motet_op. */
motet_code motet_reduce(const motet_comm *comm, const void *numbers, void *totals, size_t count,
                        int type, int op, int root);
/* The same, to `totals` of all ranks. */
motet_code motet_allreduce(const motet_comm *comm, const void *numbers, void *totals, size_t count,
                           int type, int op);

/* The same to `totals` of each rank, of the numbers of the ranks up to it. */
motet_code motet_scan(const motet_comm *comm, const void *numbers, void *totals, size_t count, int type,
                      int op);
/* The same of the numbers of the ranks before it. Those of rank 0 stay as they are. */
motet_code motet_exscan(const motet_comm *comm, const void *numbers, void *totals, size_t count,
                        int type, int op);

/* Makes a communicator of the ranks that give the same color, in the order of their keys; all ranks call
 * it. A rank with a color below 0 is in none: NULL is left. */
motet_code motet_comm_split(const motet_comm *comm, int color, int key, motet_comm **part);
/* Makes another communicator of the same ranks, whose messages are kept apart; all ranks call it. */
motet_code motet_comm_dup(const motet_comm *comm, motet_comm **copy);
/* Frees what the two have made. What is left is freed when the body returns.
 * Errors: MOTET_ARGUMENT for the communicator of all ranks; MOTET_THREAD on another thread. */
motet_code motet_comm_free(motet_comm *comm);

/* ---------------------------------------------------------------- places in the program */

/* Notes where the next call of this thread is: the text of a stuck run names the place. `file` stays there
 * as long as the program. The macros below do it. Define MOTET_NO_PLACES before the header is included,
 * and nothing is noted. */
void motet_at(const char *file, int line);

#ifndef MOTET_NO_PLACES
#define MOTET_HERE motet_at(__FILE__, __LINE__)
#define motet_send(...) (MOTET_HERE, motet_send(__VA_ARGS__))
#define motet_recv(...) (MOTET_HERE, motet_recv(__VA_ARGS__))
#define motet_sendrecv(...) (MOTET_HERE, motet_sendrecv(__VA_ARGS__))
#define motet_irecv(...) (MOTET_HERE, motet_irecv(__VA_ARGS__))
#define motet_wait(...) (MOTET_HERE, motet_wait(__VA_ARGS__))
#define motet_waitall(...) (MOTET_HERE, motet_waitall(__VA_ARGS__))
#define motet_probe(...) (MOTET_HERE, motet_probe(__VA_ARGS__))
#define motet_barrier(...) (MOTET_HERE, motet_barrier(__VA_ARGS__))
#define motet_bcast(...) (MOTET_HERE, motet_bcast(__VA_ARGS__))
#define motet_gather(...) (MOTET_HERE, motet_gather(__VA_ARGS__))
#define motet_allgather(...) (MOTET_HERE, motet_allgather(__VA_ARGS__))
#define motet_scatter(...) (MOTET_HERE, motet_scatter(__VA_ARGS__))
#define motet_alltoall(...) (MOTET_HERE, motet_alltoall(__VA_ARGS__))
#define motet_reduce(...) (MOTET_HERE, motet_reduce(__VA_ARGS__))
#define motet_allreduce(...) (MOTET_HERE, motet_allreduce(__VA_ARGS__))
#define motet_scan(...) (MOTET_HERE, motet_scan(__VA_ARGS__))
#define motet_exscan(...) (MOTET_HERE, motet_exscan(__VA_ARGS__))
#define motet_comm_split(...) (MOTET_HERE, motet_comm_split(__VA_ARGS__))
#define motet_comm_dup(...) (MOTET_HERE, motet_comm_dup(__VA_ARGS__))
#endif

#ifdef __cplusplus
}
#endif

#endif
