/* Counts the all-reduces of one rank. Built by mpicc as a shared library, loaded ahead of MPI by LD_PRELOAD.
 *
 * MPI's profiling interface: MPI_Allreduce is defined here, calls PMPI_Allreduce, and then counts. Counts lie in a
 * file that is mapped into memory, so that they outlive a rank that aborts or is killed. Nothing here ends the
 * program, or changes what it computes: what cannot be counted is not.
 *
 * The library is not linked to MPI, as the program may start others that have none. It finds MPI when it
 * is first called. Handles pass through as words of the machine, so that those of another MPI are not cut off.
 *
 * in_python/mpi4py_allreduce_counts.py writes the same file.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#ifdef OPEN_MPI
#define IS_OPEN_MPI 1
#else
#define IS_OPEN_MPI 0
#endif
#if IS_OPEN_MPI != EXPECTED_OPEN_MPI
#error "this mpicc belongs to another MPI"
#endif

#define ROWS 512      /* different all-reduces; of others only the number is kept */
#define NEARBY 32     /* rows where an all-reduce may be: if none is free, it takes that of the fewest calls */
#define GAPS 320      /* classes of gaps: eight to each power of two of nanoseconds */
#define TYPES 256     /* predefined data types that are remembered */
#define REQUESTS 1024 /* persistent requests at a time */

typedef intptr_t word; /* a handle of any MPI */
enum { BLOCKING, NONBLOCKING, PERSISTENT };
enum { NEW, COUNTING, OFF };

struct row {
    int64_t nbytes, calls;
    int32_t ranks, itemsize;
    int8_t in_place, kind;
    char unused[6];
    char dtype[32], op[16];
    uint32_t gaps[GAPS];
};
struct file {
    char magic[8];
    int64_t left_out;
    char unused[48];
    struct row rows[ROWS];
};
struct key { /* what tells a row from others */
    int64_t nbytes;
    uintptr_t dtype; /* 0: derived */
    int32_t ranks;
    int8_t op, in_place, kind, is_used;
};

static struct file *counts;
static struct key keys[ROWS];
static struct { uintptr_t handle; MPI_Count size; } types[TYPES];
static struct { uintptr_t handle; struct key key; word dtype; } requests[REQUESTS];
static int number_of_requests;
static int state = NEW;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread uint64_t last_end_ns; /* of this thread; 0: none yet */

/* MPI's own functions */
static struct {
    int (*Init)(int *, char ***);
    int (*Init_thread)(int *, char ***, int, int *);
    int (*Allreduce)(const void *, void *, int, word, word, word);
    int (*Iallreduce)(const void *, void *, int, word, word, word, void *);
    int (*Allreduce_init)(const void *, void *, int, word, word, word, word, void *);
    int (*Allreduce_c)(const void *, void *, MPI_Count, word, word, word);
    int (*Iallreduce_c)(const void *, void *, MPI_Count, word, word, word, void *);
    int (*Allreduce_init_c)(const void *, void *, MPI_Count, word, word, word, word, void *);
    int (*Start)(void *);
    int (*Startall)(int, void *);
    int (*Request_free)(void *);
    int (*Comm_size)(word, int *);
    int (*Type_size_x)(word, MPI_Count *);
    int (*Type_get_envelope)(word, int *, int *, int *, int *);
    int (*Type_get_name)(word, char *, int *);
    int (*Get_library_version)(char *, int *);
} mpi;

static const char *op_names[] = {"user-defined", "sum", "max", "min", "prod", "land", "band", "lor", "bor", "lxor",
                                 "bxor", "maxloc", "minloc"};
#define OPS (int)(sizeof op_names / sizeof *op_names)
static word ops[OPS];

static uint64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * UINT64_C(1000000000) + time.tv_nsec;
}

/* Return the loaded object through which MPI is found; NULL: none. Python loads MPI for one of its modules alone. */
static void *object_with_mpi(void) {
    struct link_map *object = NULL;
    void *program = dlopen(NULL, RTLD_LAZY), *handle;
    if (!program || dlinfo(program, RTLD_DI_LINKMAP, &object)) return NULL;
    for (; object; object = object->l_next)
        if ((handle = dlopen(object->l_name, RTLD_LAZY | RTLD_NOLOAD)) && dlsym(handle, "PMPI_Init")) return handle;
    return NULL;
}

/* Return MPI's function `PMPI_name`; of an MPI without a profiling interface `MPI_name`. */
static void *function(void *object, const char *name) {
    void *found = object ? dlsym(object, name) : NULL;
    return found ? found : dlsym(RTLD_NEXT, name + 1);
}

static void find_ops(void *object) {
#ifdef OPEN_MPI /* its handles are addresses, which are known only now */
    for (int op = 1; op < OPS; op++) {
        char name[64];
        snprintf(name, sizeof name, "ompi_mpi_op_%s", op_names[op]);
        ops[op] = (word)dlsym(object, name);
    }
#else
    const word known[] = {0,       MPI_SUM, MPI_MAX,  MPI_MIN,  MPI_PROD,   MPI_LAND,  MPI_BAND,
                          MPI_LOR, MPI_BOR, MPI_LXOR, MPI_BXOR, MPI_MAXLOC, MPI_MINLOC};
    memcpy(ops, known, sizeof ops);
    (void)object;
#endif
}

/* Whether the program uses the MPI whose mpi.h this was built with: other MPIs have other constants. */
static int is_expected_mpi(void) {
    char version[16384] = ""; /* other MPIs have longer ones than this one's mpi.h says */
    int length;
    Dl_info info;
    if (!mpi.Get_library_version || mpi.Get_library_version(version, &length)) return 0;
    if (dladdr((void *)mpi.Get_library_version, &info) && strstr(info.dli_fname, "libmpi_abi")) return 0;
    return IS_OPEN_MPI == (strncmp(version, "Open MPI", 8) == 0);
}

/* Map the file for the counts; NULL: it cannot be. Its blocks are taken at once: a full disk would end the program. */
static struct file *new_file(void) {
    const char *folder = getenv("ALLREDUCE_BENCH_PROFILE");
    char host[256] = "", path[4096];
    if (!folder) return NULL;
    gethostname(host, sizeof host - 1);
    if (snprintf(path, sizeof path, "%s/%s-%ld", folder, host, (long)getpid()) >= (int)sizeof path) return NULL;
    int handle = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (handle < 0) return NULL;
    void *map = MAP_FAILED;
    if (!posix_fallocate(handle, 0, sizeof(struct file)))
        map = mmap(NULL, sizeof(struct file), PROT_READ | PROT_WRITE, MAP_SHARED, handle, 0);
    close(handle);
    if (map == MAP_FAILED) return NULL;
    memcpy(((struct file *)map)->magic, "ARCOUNT1", 8);
    return map;
}

static void stop_in_child(void) { __atomic_store_n(&state, OFF, __ATOMIC_RELEASE); }

static void prepare(void) {
    if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) != NEW) return;
    pthread_mutex_lock(&lock);
    if (state == NEW) {
        void *object = object_with_mpi();
#define FIND(name) *(void **)&mpi.name = function(object, "PMPI_" #name)
        FIND(Init); FIND(Init_thread); FIND(Allreduce); FIND(Iallreduce); FIND(Allreduce_init);
        FIND(Allreduce_c); FIND(Iallreduce_c); FIND(Allreduce_init_c);
        FIND(Start); FIND(Startall); FIND(Request_free);
        FIND(Comm_size); FIND(Type_size_x); FIND(Type_get_envelope); FIND(Type_get_name); FIND(Get_library_version);
        int has_all = mpi.Comm_size && mpi.Type_size_x && mpi.Type_get_envelope && mpi.Type_get_name;
        if (has_all && is_expected_mpi() && (counts = new_file())) {
            find_ops(object);
            pthread_atfork(NULL, NULL, stop_in_child);
        }
        __atomic_store_n(&state, counts ? COUNTING : OFF, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
}

/* Whether the type is predefined; and its size. */
static int is_predefined(word dtype, MPI_Count *size) {
    uintptr_t handle = (uintptr_t)(MPI_Datatype)dtype, place = (handle ^ handle >> 8 ^ handle >> 16) % TYPES;
    int integers, addresses, others, combiner;
    if (types[place].handle == handle) {
        *size = types[place].size;
        return 1;
    }
    if (mpi.Type_size_x(dtype, size) || mpi.Type_get_envelope(dtype, &integers, &addresses, &others, &combiner)) {
        *size = 0;
        return 0;
    }
    if (combiner != MPI_COMBINER_NAMED) return 0;
    types[place].handle = handle; /* it is never freed, so that no other type can get its handle */
    types[place].size = *size;
    return 1;
}

static int op_of(word op) {
    for (int number = 1; number < OPS; number++)
        if ((MPI_Op)op == (MPI_Op)ops[number]) return number;
    return 0;
}

/* Write what tells this call from others; 0: it cannot be told. */
static int key_of(struct key *key, const void *send, int64_t count, word dtype, word op, word comm, int kind) {
    MPI_Count size = 0;
    int ranks = 0, predefined = is_predefined(dtype, &size);
    if (mpi.Comm_size(comm, &ranks)) return 0;
    memset(key, 0, sizeof *key);
    key->nbytes = count * size;
    key->dtype = predefined ? (uintptr_t)(MPI_Datatype)dtype : 0;
    key->ranks = ranks;
    key->op = op_of(op);
    key->in_place = send == MPI_IN_PLACE;
    key->kind = kind;
    key->is_used = 1;
    return 1;
}

/* Return the row of calls with this key. Addresses are not hashed, so that all ranks keep the same rows. */
static struct row *row_of(const struct key *key, word dtype) {
    uint64_t hash = (key->nbytes * 31 + key->ranks) * 31 + key->op * 7 + key->kind * 3 + key->in_place;
    int first = (hash * UINT64_C(0x9E3779B97F4A7C15)) >> 32 & (ROWS - 1), chosen = first;
    for (int step = 0; step < NEARBY; step++) {
        int number = (first + step) % ROWS;
        if (!memcmp(&keys[number], key, sizeof *key)) return &counts->rows[number];
        if (counts->rows[number].calls < counts->rows[chosen].calls) chosen = number;
        if (!keys[number].is_used) {
            chosen = number;
            break;
        }
    }
    struct row *row = &counts->rows[chosen];
    char name[MPI_MAX_OBJECT_NAME + 1] = "derived";
    MPI_Count size = 0;
    int length;
    if (key->dtype) {
        is_predefined(dtype, &size);
        mpi.Type_get_name(dtype, name, &length);
    }
    counts->left_out += row->calls;
    memset(row, 0, sizeof *row);
    keys[chosen] = *key;
    row->nbytes = key->nbytes;
    row->ranks = key->ranks;
    row->itemsize = size;
    row->in_place = key->in_place;
    row->kind = key->kind;
    snprintf(row->dtype, sizeof row->dtype, "%s", name);
    snprintf(row->op, sizeof row->op, "%s", op_names[key->op]);
    return row;
}

static int class_of(uint64_t ns) {
    if (ns < 8) return ns;
    int power = 63 - __builtin_clzll(ns), number = (power - 2) * 8 + (ns >> (power - 3) & 7);
    return number < GAPS ? number : GAPS - 1;
}

static void add_call(const struct key *key, word dtype, uint64_t begin_ns) {
    struct row *row = row_of(key, dtype);
    row->calls++;
    if (last_end_ns) {
        uint32_t *gap = &row->gaps[class_of(begin_ns - last_end_ns)];
        *gap += *gap != UINT32_MAX;
    }
}

/* Whether to count, and the start of a call. */
static int begins(uint64_t *begin_ns) {
    prepare();
    if (__atomic_load_n(&state, __ATOMIC_RELAXED) != COUNTING) return 0;
    *begin_ns = now_ns();
    return 1;
}

/* Count a call that succeeded, so that its arguments are valid. */
static void ends(const void *send, int64_t count, word dtype, word op, word comm, int kind, uint64_t begin_ns) {
    struct key key;
    pthread_mutex_lock(&lock);
    if (key_of(&key, send, count, dtype, op, comm, kind)) add_call(&key, dtype, begin_ns);
    pthread_mutex_unlock(&lock);
    last_end_ns = now_ns();
}

static void remember(uintptr_t request, const void *send, int64_t count, word dtype, word op, word comm) {
    pthread_mutex_lock(&lock);
    int number = number_of_requests;
    if (number < REQUESTS && key_of(&requests[number].key, send, count, dtype, op, comm, PERSISTENT)) {
        requests[number].handle = request;
        requests[number].dtype = dtype;
        __atomic_store_n(&number_of_requests, number + 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
}

static int place_of(uintptr_t request) {
    for (int place = 0; place < number_of_requests; place++)
        if (requests[place].handle == request) return place;
    return -1;
}

static void started(uintptr_t request, uint64_t begin_ns) {
    pthread_mutex_lock(&lock);
    int place = place_of(request);
    if (place >= 0) add_call(&requests[place].key, requests[place].dtype, begin_ns);
    pthread_mutex_unlock(&lock);
    if (place >= 0) last_end_ns = now_ns();
}

#define HANDLE_AT(request) ((uintptr_t) * (MPI_Request *)(request))
#define EXPORTED(name) __asm__("MPI_" #name) __attribute__((visibility("default")))

int counted_Init(int *, char ***) EXPORTED(Init);
int counted_Init(int *number, char ***words) {
    prepare();
    return mpi.Init(number, words);
}

int counted_Init_thread(int *, char ***, int, int *) EXPORTED(Init_thread);
int counted_Init_thread(int *number, char ***words, int wanted, int *level) {
    prepare();
    return mpi.Init_thread(number, words, wanted, level);
}

#define ALLREDUCE(name, count_type) \
    int counted_##name(const void *, void *, count_type, word, word, word) EXPORTED(name); \
    int counted_##name(const void *send, void *receive, count_type count, word dtype, word op, word comm) { \
        uint64_t begin_ns; \
        int is_counted = begins(&begin_ns); \
        int error = mpi.name(send, receive, count, dtype, op, comm); \
        if (is_counted && !error) ends(send, count, dtype, op, comm, BLOCKING, begin_ns); \
        return error; \
    }
#define IALLREDUCE(name, count_type) \
    int counted_##name(const void *, void *, count_type, word, word, word, void *) EXPORTED(name); \
    int counted_##name(const void *send, void *receive, count_type count, word dtype, word op, word comm, \
                       void *request) { \
        uint64_t begin_ns; \
        int is_counted = begins(&begin_ns); \
        int error = mpi.name(send, receive, count, dtype, op, comm, request); \
        if (is_counted && !error) ends(send, count, dtype, op, comm, NONBLOCKING, begin_ns); \
        return error; \
    }
#define ALLREDUCE_INIT(name, count_type) \
    int counted_##name(const void *, void *, count_type, word, word, word, word, void *) EXPORTED(name); \
    int counted_##name(const void *send, void *receive, count_type count, word dtype, word op, word comm, word info, \
                       void *request) { \
        uint64_t begin_ns; \
        int is_counted = begins(&begin_ns); \
        int error = mpi.name(send, receive, count, dtype, op, comm, info, request); \
        if (is_counted && !error) remember(HANDLE_AT(request), send, count, dtype, op, comm); \
        return error; \
    }

ALLREDUCE(Allreduce, int)
IALLREDUCE(Iallreduce, int)
#if MPI_VERSION >= 4
ALLREDUCE(Allreduce_c, MPI_Count)
IALLREDUCE(Iallreduce_c, MPI_Count)
ALLREDUCE_INIT(Allreduce_init_c, MPI_Count)
#endif
#if MPI_VERSION >= 4 || defined(OPEN_MPI) && OMPI_MAJOR_VERSION >= 5
ALLREDUCE_INIT(Allreduce_init, int)

int counted_Start(void *) EXPORTED(Start);
int counted_Start(void *request) {
    uint64_t begin_ns;
    int is_counted = begins(&begin_ns) && __atomic_load_n(&number_of_requests, __ATOMIC_ACQUIRE);
    uintptr_t handle = is_counted ? HANDLE_AT(request) : 0;
    int error = mpi.Start(request);
    if (is_counted && !error) started(handle, begin_ns);
    return error;
}

int counted_Startall(int, void *) EXPORTED(Startall);
int counted_Startall(int number, void *all) {
    uint64_t begin_ns;
    int is_counted = begins(&begin_ns) && __atomic_load_n(&number_of_requests, __ATOMIC_ACQUIRE);
    int error = mpi.Startall(number, all);
    for (int place = 0; is_counted && !error && place < number; place++) {
        started(HANDLE_AT((MPI_Request *)all + place), begin_ns);
        begin_ns = last_end_ns > begin_ns ? last_end_ns : begin_ns; /* there is no time between those of one call */
    }
    return error;
}

int counted_Request_free(void *) EXPORTED(Request_free);
int counted_Request_free(void *request) {
    uint64_t begin_ns;
    int is_counted = begins(&begin_ns) && __atomic_load_n(&number_of_requests, __ATOMIC_ACQUIRE);
    if (is_counted) {
        pthread_mutex_lock(&lock);
        int place = place_of(HANDLE_AT(request));
        if (place >= 0) requests[place] = requests[--number_of_requests];
        pthread_mutex_unlock(&lock);
    }
    return mpi.Request_free(request);
}
#endif
