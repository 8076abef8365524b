/* Stands for NVIDIA's driver and compiler in tests. STUB says how they fail; if it is "run", kernels run
   on the emulator, whose header STUB_HEADER names, in the folder STUB_FOLDER. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is(const char *what) {
  const char *mode = getenv("STUB");
  return mode && !strcmp(mode, what);
}

int cuInit(unsigned flags) { return is("old-driver") ? 35 : 0; }
int cuGetErrorString(int error, const char **text) {
  *text = error == 35 ? "the driver is older than the library" : error == 700 ? "an illegal memory access" : "another error";
  return 0;
}
int cuDeviceGetCount(int *count) { *count = is("no-device") ? 0 : 1; return 0; }
int cuDeviceGet(int *device, int number) { *device = number; return 0; }
int cuDeviceGetName(char *name, int size, int device) { strncpy(name, "Stub 1", (size_t)size); return 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  *value = attribute == 75 ? (is("old-device") ? 3 : 9) : attribute == 76 ? 0 : 4;
  return 0;
}
int cuDevicePrimaryCtxRetain(void **context, int device) { *context = context; return 0; }
int cuCtxSetCurrent(void *context) { return 0; }
int cuCtxSynchronize(void) { return is("fault") ? 700 : 0; }

/* A module of a text, and its kernels with how many parameters they have. */
static char library[4096], *source;
typedef struct { void *address; int parameters; } kernel;

int cuModuleLoadData(void **module, const void *code) {
  *module = is("run") ? dlopen(library, RTLD_NOW) : module;
  return *module ? 0 : 1;
}
int cuModuleUnload(void *module) { return 0; }
int cuModuleGetFunction(void **function, void *module, const char *name) {
  *function = function;
  if (!is("run")) return 0;
  char head[512];
  snprintf(head, sizeof head, " %s(", name);
  const char *at = strstr(source, head);
  kernel *k = malloc(sizeof *k);
  k->address = dlsym(module, name);
  k->parameters = 1;
  for (; at && *at != ')'; at++) k->parameters += *at == ',';
  *function = k;
  return k->address && at ? 0 : 500;
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads, size_t bytes) { *blocks = 2; return 0; }
int cuLaunchKernel(void *f, unsigned x, unsigned y, unsigned z, unsigned a, unsigned b, unsigned c, unsigned bytes, void *stream, void **args, void **extra) {
  if (!is("run")) return 0;
  kernel *k = f;
  long values[32] = {0};
  for (int n = 0; n < k->parameters; n++) values[n] = *(long *)args[n];
  void *module = dlopen(library, RTLD_NOW);
  int (*launch)(void *, long *, int, int) = dlsym(module, "stub_launch");
  return launch(k->address, values, x < 5 ? (int)x : 5, (int)a) ? 700 : 0;
}
int cuMemAlloc_v2(unsigned long long *address, size_t bytes) {
  if (is("full")) return 2;
  *address = (unsigned long long)calloc(1, bytes);
  return 0;
}
int cuMemFree_v2(unsigned long long address) { free((void *)address); return 0; }
int cuMemGetInfo_v2(size_t *left, size_t *total) { *left = 5; *total = 1000; return 0; }
int cuMemcpyHtoD_v2(unsigned long long to, const void *from, size_t bytes) { memcpy((void *)to, from, bytes); return 0; }
int cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t bytes) { memcpy(to, (void *)from, bytes); return 0; }
int cuEventCreate(void **event, unsigned flags) { *event = event; return 0; }
int cuEventRecord(void *event, void *stream) { return 0; }
int cuEventElapsedTime(float *milliseconds, void *start, void *end) { *milliseconds = 1; return 0; }

int nvrtcVersion(int *major, int *minor) { *major = 1; *minor = 0; return 0; }
int nvrtcCreateProgram(void **program, const char *text, const char *name, int n, const char *const *headers, const char *const *names) {
  *program = program;
  source = strdup(text);
  return 0;
}

/* Compiles the text with the emulator's header to a library; what is called has up to 32 integers and addresses. */
int nvrtcCompileProgram(void *program, int n, const char *const *options) {
  if (is("wrong-text")) return 6;
  if (!is("run")) return 0;
  char path[2048], command[8192];
  snprintf(path, sizeof path, "%s/kernels.%d.c", getenv("STUB_FOLDER"), (int)getpid());
  snprintf(library, sizeof library, "%s.so", path);
  FILE *file = fopen(path, "w");
  if (!file) return 1;
  fprintf(file, "#include \"%s\"\n#undef __global__\n#define __global__\n", getenv("STUB_HEADER"));
  for (const char *at = source, *next; *at; at = next) {
    next = strstr(at, "extern \"C\" ");
    fwrite(at, 1, next ? (size_t)(next - at) : strlen(at), file);
    next = next ? next + 11 : at + strlen(at);
  }
  fprintf(file, "static void *stub_kernel;\nstatic long *stub_values;\nstatic void stub_thread(void) {\n  ((void (*)(");
  for (int k = 0; k < 32; k++) fprintf(file, "long%s", k < 31 ? ", " : "))stub_kernel)(");
  for (int k = 0; k < 32; k++) fprintf(file, "stub_values[%d]%s", k, k < 31 ? ", " : ");\n}\n");
  fprintf(file, "int stub_launch(void *kernel, long *values, int blocks, int threads) {\n  stub_kernel = kernel;\n  stub_values = values;\n  return tamis_launch(blocks, threads, stub_thread);\n}\n");
  fclose(file);
  snprintf(command, sizeof command, "cc -w -shared -fPIC -o %s %s", library, path);
  return system(command) ? 6 : 0;
}
int nvrtcGetProgramLogSize(void *program, size_t *size) { *size = 8; return 0; }
int nvrtcGetProgramLog(void *program, char *log) { memcpy(log, "a quote", 8); return 0; }
int nvrtcGetCUBINSize(void *program, size_t *size) { *size = 4; return 0; }
int nvrtcGetCUBIN(void *program, char *code) { memcpy(code, "code", 4); return 0; }
int nvrtcDestroyProgram(void **program) { return 0; }
