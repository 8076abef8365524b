/* y(i) = A(i,j) * x(j), A in CSR.
 *
 * Scalar with four accumulators: gathers lose to scalar loads on every machine measured, and four chains
 * hide the latency of the addition. Short rows would only pay for joining the chains. The streams of A are
 * prefetched far ahead: the processor's own prefetching stops at page ends and left half of the stencil's
 * time waiting.
 */
#include "hand.h"

#define SHORT_ROW 12
#define AHEAD 1024

INLINE void prefetch(const int32_t *crd, const double *vals, int64_t p) {
    __builtin_prefetch(vals + p + AHEAD);
    __builtin_prefetch(crd + p + 2 * AHEAD);
}

void hand_spmv(int64_t rows, const int32_t *pos, const int32_t *crd, const double *vals,
               const double *x, double *y) {
    int64_t p = pos[0];
    for (int64_t i = 0; i < rows; i++) {
        const int64_t end = pos[i + 1];
        double s0 = 0;
        prefetch(crd, vals, p);
        if (end - p >= SHORT_ROW) {
            double s1 = 0, s2 = 0, s3 = 0;
            for (; p + 8 <= end; p += 8) {
                prefetch(crd, vals, p);
                s0 += vals[p] * x[crd[p]];
                s1 += vals[p + 1] * x[crd[p + 1]];
                s2 += vals[p + 2] * x[crd[p + 2]];
                s3 += vals[p + 3] * x[crd[p + 3]];
                s0 += vals[p + 4] * x[crd[p + 4]];
                s1 += vals[p + 5] * x[crd[p + 5]];
                s2 += vals[p + 6] * x[crd[p + 6]];
                s3 += vals[p + 7] * x[crd[p + 7]];
            }
            s0 = (s0 + s1) + (s2 + s3);
        }
        for (; p < end; p++) s0 += vals[p] * x[crd[p]];
        y[i] = s0;
    }
}
