/* Shared by the hand-written kernels: vectors as wide as the machine has, and how many accumulators fit.
 *
 * The vectors are the compiler's (GCC and Clang), so one source serves AVX-512, AVX2 and SSE2; where a
 * kernel needs shuffles of one instruction set it says so with #ifdef and keeps a portable other half.
 */
#ifndef TAMIS_HAND_H
#define TAMIS_HAND_H

#include <stdint.h>
#include <string.h>

#if defined(__AVX512F__)
#define LANES 8
#define TILE 16 /* accumulators held in registers: half of the 32 registers */
#elif defined(__AVX__)
#define LANES 4
#define TILE 8
#else
#define LANES 2
#define TILE 8
#endif

#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")

typedef double vec __attribute__((vector_size(LANES * 8)));
typedef double vec_in_memory __attribute__((vector_size(LANES * 8), aligned(8), may_alias));

/* Row `i` of a row-major matrix. The compiler must not see how the address came about: GCC would fold it
 * into every load of the row and run out of registers for the pieces. */
INLINE const double *row_of(const double *matrix, int64_t i, int64_t columns) {
    const double *row = matrix + i * columns;
    __asm__("" : "+r"(row));
    return row;
}

INLINE vec load(const double *p) { return *(const vec_in_memory *)p; }
INLINE void store(double *p, vec v) { *(vec_in_memory *)p = v; }
INLINE vec broadcast(double s) { return s - (vec){0}; }
INLINE vec zero(void) { return (vec){0}; }

#endif
