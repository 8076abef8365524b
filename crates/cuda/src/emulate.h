/* Runs CUDA C on a processor: a fiber per thread, one block after another.

   Which fiber goes on is drawn at every barrier, exchange and atomic operation, and between what a
   store reads and what it writes, so that results that depend on an order that CUDA does not promise change from run to run. A collective whose
   threads have ended, or wait elsewhere, is a fault: the launch ends with it. */
#define _GNU_SOURCE
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define __global__ static
#define __device__
#define __shared__ static
#define __launch_bounds__(n)
#define __restrict__ restrict

typedef struct { unsigned x, y, z; } tamis_dim3;
enum { TAMIS_READY, TAMIS_WARP, TAMIS_BLOCK, TAMIS_DONE };
enum { TAMIS_MOST = 1024, TAMIS_STACK = 1 << 16, TAMIS_FAULT = 100 };

typedef struct {
  tamis_dim3 thread;
  int state, site;
  unsigned mask;
  int partner;
  unsigned long long given, got;
  ucontext_t context;
} tamis_fiber;

static tamis_fiber tamis_fibers[TAMIS_MOST], *tamis_self;
static ucontext_t tamis_scheduler;
static int tamis_threads, tamis_faulty;
static char *tamis_stacks;
static void (*tamis_kernel)(void);
static unsigned long long tamis_seed = 1;
static tamis_dim3 blockIdx, gridDim;
#define threadIdx (tamis_self->thread)

static unsigned tamis_draw(unsigned below) {
  tamis_seed ^= tamis_seed << 13;
  tamis_seed ^= tamis_seed >> 7;
  tamis_seed ^= tamis_seed << 17;
  return (unsigned)(tamis_seed >> 33) % below;
}

static void tamis_fault(const char *what) {
  if (!tamis_faulty && getenv("TAMIS_SHOW_FAULTS"))
    fprintf(stderr, "thread %u of block %u: %s\n", tamis_self->thread.x, blockIdx.x, what);
  tamis_faulty = 1;
  swapcontext(&tamis_self->context, &tamis_scheduler);
}

static void tamis_wait(int state) {
  tamis_self->state = state;
  swapcontext(&tamis_self->context, &tamis_scheduler);
}

/* Now and then, others run first. */
static void tamis_pause(void) {
  if (tamis_draw(4) == 0) tamis_wait(TAMIS_READY);
}

/* Lets the threads of a warp go on once all that the mask names have come. */
static void tamis_meet(unsigned mask, int site) {
  tamis_fiber *warp = tamis_fibers + tamis_self->thread.x / 32 * 32;
  for (int k = 0; k < 32; k++) {
    if (!(mask >> k & 1)) continue;
    tamis_fiber *other = warp + k;
    if (other - tamis_fibers >= tamis_threads) return;
    if (other->state != TAMIS_WARP || other->mask != mask || other->site != site) return;
  }
  for (int k = 0; k < 32; k++) {
    if (!(mask >> k & 1)) continue;
    int from = k ^ warp[k].partner;
    warp[k].got = warp[from & 31].given;
    warp[k].state = TAMIS_READY;
  }
}

static unsigned long long tamis_exchange(unsigned mask, unsigned long long given, int partner, int site) {
  unsigned lane = tamis_self->thread.x % 32;
  if (!(mask >> lane & 1)) tamis_fault("a collective whose mask does not name the thread");
  if (partner > 31 || !(mask >> (lane ^ (unsigned)partner) & 1)) tamis_fault("an exchange with a thread outside of the mask");
  tamis_self->mask = mask;
  tamis_self->given = given;
  tamis_self->partner = partner;
  tamis_self->site = site;
  tamis_self->state = TAMIS_WARP;
  tamis_meet(mask, site);
  int state = tamis_self->state;
  tamis_wait(state);
  return tamis_self->got;
}

#define __shfl_xor_sync(mask, value, partner) ({ \
    __typeof__(value) value_ = (value); \
    unsigned long long bits_ = 0; \
    memcpy(&bits_, &value_, sizeof value_); \
    bits_ = tamis_exchange(mask, bits_, partner, __LINE__); \
    memcpy(&value_, &bits_, sizeof value_); \
    value_; })
#define __syncwarp(mask) ((void)tamis_exchange(mask, 0, 0, __LINE__))
#define __syncthreads() tamis_barrier(__LINE__)

static void tamis_barrier(int site) {
  tamis_self->site = site;
  tamis_self->state = TAMIS_BLOCK;
  int all = 1;
  for (int k = 0; k < tamis_threads; k++)
    all &= tamis_fibers[k].state == TAMIS_BLOCK && tamis_fibers[k].site == site;
  for (int k = 0; all && k < tamis_threads; k++) tamis_fibers[k].state = TAMIS_READY;
  tamis_wait(tamis_self->state);
}

#define tamis_atomic(p, x, new) ({ \
    tamis_wait(TAMIS_READY); \
    __typeof__(*(p) + 0) old_ = *(p), x_ = (x); \
    (void)x_; \
    *(p) = (new); \
    tamis_wait(TAMIS_READY); \
    old_; })
#define atomicAdd(p, x) tamis_atomic(p, x, old_ + x_)
#define atomicMax(p, x) tamis_atomic(p, x, old_ > x_ ? old_ : x_)
#define atomicCAS(p, seen, x) tamis_atomic(p, x, old_ == (seen) ? x_ : old_)

static inline double __longlong_as_double(long long x) { double y; memcpy(&y, &x, 8); return y; }
static inline long long __double_as_longlong(double x) { long long y; memcpy(&y, &x, 8); return y; }
static inline float __int_as_float(int x) { float y; memcpy(&y, &x, 4); return y; }
static inline float __uint_as_float(unsigned x) { float y; memcpy(&y, &x, 4); return y; }
static inline unsigned __float_as_uint(float x) { unsigned y; memcpy(&y, &x, 4); return y; }

static void tamis_run_one(void) {
  tamis_kernel();
  tamis_wait(TAMIS_DONE);
}

static void tamis_block(void) {
  static int order[TAMIS_MOST];
  for (int k = 0; k < tamis_threads; k++) {
    tamis_fiber *f = tamis_fibers + k;
    f->thread.x = (unsigned)k;
    f->state = TAMIS_READY;
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = tamis_stacks + (size_t)k * TAMIS_STACK;
    f->context.uc_stack.ss_size = TAMIS_STACK;
    f->context.uc_link = NULL;
    makecontext(&f->context, tamis_run_one, 0);
  }
  unsigned slow = 0;
  for (int ready = 1; ready && !tamis_faulty;) {
    /* Some warps are slow for a while, and any thread now and then. */
    if (tamis_draw(16) == 0) slow = tamis_draw(2) ? 0 : tamis_draw(1u << 16) << 16 | tamis_draw(1u << 16);
    ready = 0;
    for (int k = 0; k < tamis_threads; k++) order[k] = k;
    for (int k = tamis_threads - 1; k > 0; k--) {
      int other = (int)tamis_draw((unsigned)k + 1), swap = order[k];
      order[k] = order[other];
      order[other] = swap;
    }
    for (int k = 0; k < tamis_threads && !tamis_faulty; k++) {
      tamis_self = tamis_fibers + order[k];
      if (tamis_self->state != TAMIS_READY) continue;
      ready = 1;
      if (slow >> tamis_self->thread.x / 32 & 1 || tamis_draw(8) == 0) continue;
      swapcontext(&tamis_scheduler, &tamis_self->context);
    }
  }
  for (int k = 0; k < tamis_threads && !tamis_faulty; k++) {
    tamis_self = tamis_fibers + k;
    if (tamis_self->state == TAMIS_DONE) continue;
    if (getenv("TAMIS_SHOW_FAULTS"))
      fprintf(stderr, "thread %d of block %u waits for threads that never come\n", k, blockIdx.x);
    tamis_faulty = 1;
  }
}

/* Runs a kernel; 0, or a status that stands for a fault. */
static int tamis_launch(int blocks, int threads, void (*kernel)(void)) {
  if (!tamis_stacks) {
    size_t size = (size_t)TAMIS_MOST * TAMIS_STACK;
    tamis_stacks = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (tamis_stacks == MAP_FAILED) { tamis_stacks = NULL; return 1; }
  }
  tamis_kernel = kernel;
  tamis_threads = threads;
  tamis_faulty = 0;
  gridDim.x = (unsigned)blocks;
  int first = (int)tamis_draw((unsigned)blocks);
  for (int k = 0; k < blocks && !tamis_faulty; k++) {
    blockIdx.x = (unsigned)((first + k) % blocks);
    tamis_block();
  }
  return tamis_faulty ? TAMIS_FAULT : 0;
}

/* The stacks go with the library. */
__attribute__((destructor)) static void tamis_end(void) {
  if (tamis_stacks) munmap(tamis_stacks, (size_t)TAMIS_MOST * TAMIS_STACK);
}

/* Puts the address and the length of a new array into slots, whoever has them frees it; 0, or a
   status. Its elements are nothing to rely on. */
static inline int tamis_allocate(unsigned long long *slots, long long length, size_t size) {
  free((void *)slots[0]);
  slots[0] = slots[1] = 0;
  if (length < 0 || (unsigned long long)length > SIZE_MAX / 2 / size) return 1;
  void *fresh = malloc((size_t)length * size + 1);
  if (!fresh) return 1;
  memset(fresh, 0xa5, (size_t)length * size);
  slots[0] = (unsigned long long)fresh;
  slots[1] = (unsigned long long)length;
  return 0;
}

/* The text brings its own types. */
#undef INT64_MAX
#undef INT64_MIN
#undef UINT64_MAX
#define int8_t tamis_int8_t
#define uint8_t tamis_uint8_t
#define int16_t tamis_int16_t
#define uint16_t tamis_uint16_t
#define int32_t tamis_int32_t
#define uint32_t tamis_uint32_t
#define int64_t tamis_int64_t
#define uint64_t tamis_uint64_t
