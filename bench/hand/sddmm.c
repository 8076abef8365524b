/* A(i,j) = B(i,j) * C(i,k) * D(j,k), A and B in CSR, C and D row-major with k = 32 or 128.
 *
 * The row of C stays in registers where it fits. With AVX-512 eight nonzeros are finished together, across
 * the ends of rows, so that adding up the lanes of eight vectors costs seven additions, not twenty-four.
 */
#include "hand.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#define GROUP 8

/* The sums of the lanes of eight vectors, in order: halve, transposing as we go. */
INLINE __m512d lane_sums(const vec *s) {
    const __m512i even = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
    const __m512i odd = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
    __m512d pair[4], quad[2];
    UNROLL for (int i = 0; i < 4; i++) {
        const __m512d a = (__m512d)s[2 * i], b = (__m512d)s[2 * i + 1];
        pair[i] = _mm512_add_pd(_mm512_unpacklo_pd(a, b), _mm512_unpackhi_pd(a, b));
    }
    UNROLL for (int i = 0; i < 2; i++)
        quad[i] = _mm512_add_pd(_mm512_permutex2var_pd(pair[2 * i], even, pair[2 * i + 1]),
                                _mm512_permutex2var_pd(pair[2 * i], odd, pair[2 * i + 1]));
    /* Lanes are now (a0 b0 c0 d0 | a1 b1 c1 d1), each half still to be added to the other. */
    return _mm512_add_pd(_mm512_shuffle_f64x2(quad[0], quad[1], 0x44),
                         _mm512_shuffle_f64x2(quad[0], quad[1], 0xee));
}

INLINE void finish(const vec *s, const double *vals, double *out, int count) {
    const __mmask8 mask = (__mmask8)((1 << count) - 1);
    _mm512_mask_storeu_pd(out, mask,
                          _mm512_mul_pd(lane_sums(s), _mm512_maskz_loadu_pd(mask, vals)));
}
#else
#define GROUP 1

INLINE void finish(const vec *s, const double *vals, double *out, int count) {
    double sum = 0;
    UNROLL for (int l = 0; l < LANES; l++) sum += s[0][l];
    if (count) out[0] = vals[0] * sum;
}
#endif

INLINE vec dot(const int vectors, const vec *c, const double *d) {
    vec s0 = c[0] * load(d), s1 = c[1] * load(d + LANES);
    UNROLL for (int v = 2; v < vectors; v += 2) {
        s0 += c[v] * load(d + v * LANES);
        s1 += c[v + 1] * load(d + (v + 1) * LANES);
    }
    return s0 + s1;
}

INLINE void sweep(const int k, int64_t rows, const int32_t *pos, const int32_t *crd,
                  const double *vals, const double *c, const double *d, double *out) {
    vec row[128 / LANES], pending[GROUP];
    int64_t p = 0;
    for (int64_t i = 0; i < rows; i++) {
        const int64_t end = pos[i + 1];
        UNROLL for (int v = 0; v < k / LANES; v++) row[v] = load(c + i * k + v * LANES);
        while (p < end) {
            if (p % GROUP == 0 && p + GROUP <= end) {
                vec s[GROUP];
                UNROLL for (int g = 0; g < GROUP; g++)
                    s[g] = dot(k / LANES, row, row_of(d, crd[p + g], k));
                finish(s, vals + p, out + p, GROUP);
                p += GROUP;
            } else {
                pending[p % GROUP] = dot(k / LANES, row, row_of(d, crd[p], k));
                if (++p % GROUP == 0) finish(pending, vals + p - GROUP, out + p - GROUP, GROUP);
            }
        }
    }
    finish(pending, vals + p - p % GROUP, out + p - p % GROUP, p % GROUP);
}

void hand_sddmm32(int64_t rows, const int32_t *pos, const int32_t *crd, const double *vals,
                  const double *c, const double *d, double *out) {
    sweep(32, rows, pos, crd, vals, c, d, out);
}

void hand_sddmm128(int64_t rows, const int32_t *pos, const int32_t *crd, const double *vals,
                   const double *c, const double *d, double *out) {
    sweep(128, rows, pos, crd, vals, c, d, out);
}
