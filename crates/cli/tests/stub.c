/* Stands for NVIDIA's driver and compiler in tests of what is told when these fail: STUB says how.
   It runs nothing. */
#include <stdlib.h>
#include <string.h>

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
int cuModuleLoadData(void **module, const void *code) { *module = module; return 0; }
int cuModuleUnload(void *module) { return 0; }
int cuModuleGetFunction(void **function, void *module, const char *name) { *function = function; return 0; }
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads, size_t bytes) { *blocks = 2; return 0; }
int cuLaunchKernel(void *f, unsigned x, unsigned y, unsigned z, unsigned a, unsigned b, unsigned c, unsigned bytes, void *stream, void **args, void **extra) { return 0; }
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
int nvrtcCreateProgram(void **program, const char *text, const char *name, int n, const char *const *headers, const char *const *names) { *program = program; return 0; }
int nvrtcCompileProgram(void *program, int n, const char *const *options) { return is("wrong-text") ? 6 : 0; }
int nvrtcGetProgramLogSize(void *program, size_t *size) { *size = 8; return 0; }
int nvrtcGetProgramLog(void *program, char *log) { memcpy(log, "a quote", 8); return 0; }
int nvrtcGetCUBINSize(void *program, size_t *size) { *size = 4; return 0; }
int nvrtcGetCUBIN(void *program, char *code) { memcpy(code, "code", 4); return 0; }
int nvrtcDestroyProgram(void **program) { return 0; }
