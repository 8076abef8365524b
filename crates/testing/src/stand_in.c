/* Stands for NVIDIA's driver and compiler in tests. STUB says how they fail; if it is "run", kernels run
   on the emulator, whose header STUB_HEADER names, in the folder STUB_FOLDER, on a device with STUB_MEMORY
   bytes. Nothing that is asked of a stream happens before somebody waits for it, and what is freed is
   overwritten: who relies on an order that nobody asked for gets wrong numbers. Calls without a context fail.
   At the end STUB_REPORT gets what was done. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OUT_OF_MEMORY = 2, INVALID_CONTEXT = 201, NOT_FOUND = 500, FAULT = 700, MOST = 64 };

static int is(const char *what) {
  const char *mode = getenv("STUB");
  return mode && !strcmp(mode, what);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long launches, copies_in, copies_out, waits, allocations, orders, compilations;
static long entered;
static size_t used, most;

__attribute__((destructor)) static void report(void) {
  FILE *file = getenv("STUB_REPORT") ? fopen(getenv("STUB_REPORT"), "w") : NULL;
  if (!file) return;
  fprintf(file, "launches %ld\ncopies_in %ld\ncopies_out %ld\nwaits %ld\nallocations %ld\norders %ld\ncompilations %ld\nused %zu\nmost %zu\nentered %ld\n",
          launches, copies_in, copies_out, waits, allocations, orders, compilations, used, most, entered);
  fclose(file);
}

/* Contexts of a thread. */
static __thread void *contexts[MOST];
static __thread int depth;
static int is_own;
#define ENTERED if (!depth || contexts[depth - 1] != &is_own) return INVALID_CONTEXT

int cuInit(unsigned flags) { return is("old-driver") ? 35 : 0; }
int cuDriverGetVersion(int *version) { *version = is("old-cuda") ? 11080 : 12040; return 0; }
int cuGetErrorString(int error, const char **text) {
  *text = error == 35 ? "the driver is older than the library" : error == FAULT ? "an illegal memory access"
        : error == INVALID_CONTEXT ? "invalid device context" : "another error";
  return 0;
}
int cuDeviceGetCount(int *count) { *count = is("no-device") ? 0 : 2; return 0; }
int cuDeviceGet(int *device, int number) { *device = number; return 0; }
int cuDeviceGetName(char *name, int size, int device) { snprintf(name, (size_t)size, "Stub %d", device + 1); return 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  *value = attribute == 75 ? (is("old-device") ? 3 : is("new-device") ? 12 : 9) : attribute == 76 ? 0 : 4;
  return 0;
}
int cuDevicePrimaryCtxRetain(void **context, int device) { *context = &is_own; return 0; }
int cuCtxPushCurrent_v2(void *context) {
  if (depth == MOST) return INVALID_CONTEXT;
  contexts[depth++] = context;
  __sync_fetch_and_add(&entered, 1);
  return 0;
}
int cuCtxPopCurrent_v2(void **context) {
  if (!depth) return INVALID_CONTEXT;
  *context = contexts[--depth];
  __sync_fetch_and_sub(&entered, 1);
  return 0;
}

/* What streams are asked to do. */
typedef struct event { int recorded, done; } event;
typedef struct { void *address; int parameters; void *library; } kernel;
typedef struct operation {
  enum { LAUNCH, COPY, SET, RECORD, WAIT } kind;
  kernel *kernel;
  long values[64];
  int blocks, threads;
  void *to;
  const void *from;
  size_t bytes;
  event *event;
  struct operation *next;
} operation;
typedef struct stream { operation *first, *last; struct stream *other; } stream;
static stream *streams;

static int run_until(stream *s, event *until);

/* An event happens once the stream that it was recorded in has come there. */
static int happen(event *e) {
  for (stream *s = streams; s && e->recorded && !e->done; s = s->other) {
    for (operation *o = s->first; o; o = o->next) {
      if (o->kind != RECORD || o->event != e) continue;
      int error = run_until(s, e);
      if (error) return error;
      break;
    }
  }
  return 0;
}

static int perform(operation *o) {
  switch (o->kind) {
    case COPY: memcpy(o->to, o->from, o->bytes); return 0;
    case SET: memset(o->to, 0, o->bytes); return 0;
    case RECORD: o->event->done = 1; return 0;
    case WAIT: return happen(o->event);
    default: break;
  }
  if (!is("run")) return 0;
  int (*launch)(void *, long *, int, int) = dlsym(o->kernel->library, "stub_launch");
  return launch(o->kernel->address, o->values, o->blocks, o->threads) ? FAULT : 0;
}

static int run_until(stream *s, event *until) {
  while (s->first) {
    operation *o = s->first;
    int ends = o->kind == RECORD && o->event == until;
    int error = perform(o);
    s->first = o->next;
    if (!s->first) s->last = NULL;
    free(o);
    if (error) return error;
    if (ends) break;
  }
  return is("fault") ? FAULT : 0;
}

static void ask(void *handle, operation what) {
  stream *s = handle;
  operation *o = malloc(sizeof *o);
  *o = what;
  o->next = NULL;
  pthread_mutex_lock(&lock);
  if (s->last) s->last->next = o; else s->first = o;
  s->last = o;
  pthread_mutex_unlock(&lock);
}

int cuStreamCreate(void **handle, unsigned flags) {
  ENTERED;
  stream *s = calloc(1, sizeof *s);
  pthread_mutex_lock(&lock);
  s->other = streams;
  streams = s;
  pthread_mutex_unlock(&lock);
  *handle = s;
  return 0;
}
int cuStreamSynchronize(void *handle) {
  ENTERED;
  pthread_mutex_lock(&lock);
  waits++;
  int error = run_until(handle, NULL);
  pthread_mutex_unlock(&lock);
  return error;
}
int cuStreamWaitEvent(void *handle, void *e, unsigned flags) {
  ENTERED;
  orders++;
  ask(handle, (operation){.kind = WAIT, .event = e});
  return 0;
}
int cuEventCreate(void **e, unsigned flags) { ENTERED; *e = calloc(1, sizeof(event)); return 0; }
int cuEventRecord(void *e, void *handle) {
  ENTERED;
  event *own = e;
  own->recorded = 1;
  own->done = 0;
  ask(handle, (operation){.kind = RECORD, .event = own});
  return 0;
}
int cuEventSynchronize(void *e) {
  ENTERED;
  pthread_mutex_lock(&lock);
  int error = happen(e);
  pthread_mutex_unlock(&lock);
  return error;
}
int cuEventElapsedTime(float *milliseconds, void *start, void *end) {
  *milliseconds = 1;
  return ((event *)start)->done && ((event *)end)->done ? 0 : 600;
}
/* Streams may still wait for it. */
int cuEventDestroy_v2(void *e) { ENTERED; return 0; }

/* The code of a text is the name of its library, whose text is beside it. */
int cuModuleLoadData(void **module, const void *code) {
  ENTERED;
  *module = is("run") ? dlopen(code, RTLD_NOW) : module;
  if (is("new-device")) return strncmp(code, "text", 4) ? 209 : 0;
  return *module ? 0 : 1;
}
int cuModuleUnload(void *module) { ENTERED; return 0; }
int cuModuleGetFunction(void **function, void *module, const char *name) {
  ENTERED;
  *function = function;
  if (!is("run")) return 0;
  const char **source = dlsym(module, "stub_source");
  char head[512];
  snprintf(head, sizeof head, " %s(", name);
  const char *at = strstr(*source, head);
  kernel *k = malloc(sizeof *k);
  k->library = module;
  k->address = dlsym(module, name);
  if (!k->address || !at) return NOT_FOUND;
  at += strlen(head);
  k->parameters = *at != ')';
  for (; *at != ')'; at++) k->parameters += *at == ',';
  *function = k;
  return 0;
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads, size_t bytes) { ENTERED; *blocks = 2; return 0; }
int cuLaunchKernel(void *f, unsigned x, unsigned y, unsigned z, unsigned a, unsigned b, unsigned c, unsigned bytes, void *handle, void **args, void **extra) {
  ENTERED;
  launches++;
  kernel *k = f;
  operation o = {.kind = LAUNCH, .kernel = k, .blocks = x < 5 ? (int)x : 5, .threads = (int)a};
  for (int n = 0; is("run") && n < k->parameters; n++) o.values[n] = *(long *)args[n];
  ask(handle, o);
  return 0;
}

/* Memory has its size in front. */
static size_t total(void) { return getenv("STUB_MEMORY") ? strtoul(getenv("STUB_MEMORY"), NULL, 10) : 1000; }
int cuMemAlloc_v2(unsigned long long *address, size_t bytes) {
  ENTERED;
  if (is("full") || (is("run") && used + bytes > total())) return OUT_OF_MEMORY;
  size_t *memory = malloc(bytes + 64);
  memset(memory, 0xa5, bytes + 64);
  *memory = bytes;
  *address = (unsigned long long)memory + 64;
  pthread_mutex_lock(&lock);
  allocations++;
  used += bytes;
  if (used > most) most = used;
  pthread_mutex_unlock(&lock);
  return 0;
}
int cuMemFree_v2(unsigned long long address) {
  ENTERED;
  size_t *memory = (size_t *)(address - 64), bytes = *memory;
  pthread_mutex_lock(&lock);
  used -= bytes;
  pthread_mutex_unlock(&lock);
  /* Left to those who should not use it any more. */
  memset((void *)address, 0x5a, bytes);
  return 0;
}
int cuMemGetInfo_v2(size_t *left, size_t *all) {
  ENTERED;
  *all = total();
  *left = is("run") ? total() - used : 5;
  return 0;
}
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t bytes, void *handle) {
  ENTERED;
  copies_in++;
  ask(handle, (operation){.kind = COPY, .to = (void *)to, .from = from, .bytes = bytes});
  return 0;
}
int cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t bytes, void *handle) {
  ENTERED;
  copies_out++;
  ask(handle, (operation){.kind = COPY, .to = to, .from = (void *)from, .bytes = bytes});
  return 0;
}
int cuMemsetD8Async(unsigned long long to, unsigned char value, size_t bytes, void *handle) {
  ENTERED;
  ask(handle, (operation){.kind = SET, .to = (void *)to, .bytes = bytes});
  return 0;
}

int nvrtcVersion(int *major, int *minor) { *major = is("new-nvrtc") ? 13 : 12; *minor = 0; return 0; }
int nvrtcGetNumSupportedArchs(int *count) { *count = 3; return 0; }
int nvrtcGetSupportedArchs(int *known) { known[0] = 70; known[1] = 80; known[2] = 90; return 0; }

/* A text, and what is made of it. */
typedef struct { char *text, code[4096]; } program;

int nvrtcCreateProgram(void **made, const char *text, const char *name, int n, const char *const *headers, const char *const *names) {
  program *p = calloc(1, sizeof *p);
  p->text = strdup(text);
  strcpy(p->code, "code");
  *made = p;
  return 0;
}

/* Compiles the text with the emulator's header to a library; what is called has up to 64 integers and addresses. */
int nvrtcCompileProgram(void *made, int n, const char *const *options) {
  program *p = made;
  if (is("wrong-text")) return 6;
  if (is("new-device")) {
    for (int k = 0; k < n; k++) {
      if (!strcmp(options[k], "--gpu-architecture=compute_90")) strcpy(p->code, "text");
    }
  }
  if (!is("run")) return 0;
  static int count;
  char path[2048], command[8192];
  pthread_mutex_lock(&lock);
  compilations++;
  snprintf(path, sizeof path, "%s/kernels.%d.%d.c", getenv("STUB_FOLDER"), (int)getpid(), ++count);
  pthread_mutex_unlock(&lock);
  snprintf(p->code, sizeof p->code, "%s.so", path);
  FILE *file = fopen(path, "w");
  if (!file) return 1;
  fprintf(file, "#include \"%s\"\n#undef __global__\n#define __global__\n", getenv("STUB_HEADER"));
  for (const char *at = p->text, *next; *at; at = next) {
    next = strstr(at, "extern \"C\" ");
    fwrite(at, 1, next ? (size_t)(next - at) : strlen(at), file);
    next = next ? next + 11 : at + strlen(at);
  }
  fprintf(file, "const char *stub_source = \"");
  for (const char *at = p->text; *at; at++) {
    if (*at == '\n') fprintf(file, "\\n");
    else fprintf(file, *at == '"' || *at == '\\' ? "\\%c" : "%c", *at);
  }
  fprintf(file, "\";\nstatic void *stub_kernel;\nstatic long *stub_values;\nstatic void stub_thread(void) {\n  ((void (*)(");
  for (int k = 0; k < 64; k++) fprintf(file, "long%s", k < 63 ? ", " : "))stub_kernel)(");
  for (int k = 0; k < 64; k++) fprintf(file, "stub_values[%d]%s", k, k < 63 ? ", " : ");\n}\n");
  fprintf(file, "int stub_launch(void *kernel, long *values, int blocks, int threads) {\n  stub_kernel = kernel;\n  stub_values = values;\n  return tamis_launch(blocks, threads, stub_thread);\n}\n");
  fclose(file);
  snprintf(command, sizeof command, "cc -w -shared -fPIC -o %s %s", p->code, path);
  return system(command) ? 6 : 0;
}
int nvrtcGetProgramLogSize(void *made, size_t *size) { *size = 8; return 0; }
int nvrtcGetProgramLog(void *made, char *log) { memcpy(log, "a quote", 8); return 0; }
int nvrtcGetCUBINSize(void *made, size_t *size) { *size = strlen(((program *)made)->code) + 1; return 0; }
int nvrtcGetCUBIN(void *made, char *code) { strcpy(code, ((program *)made)->code); return 0; }
int nvrtcGetPTXSize(void *made, size_t *size) { return nvrtcGetCUBINSize(made, size); }
int nvrtcGetPTX(void *made, char *code) { return nvrtcGetCUBIN(made, code); }
int nvrtcDestroyProgram(void **made) { return 0; }
