/* y(i) = A(i,j) * x(j), A in CSR.
 *
 * Scalar with four accumulators: gathers lose to scalar loads on every machine measured, and four chains
 * hide the latency of the addition. Short rows would only pay for joining the chains.
 */
#include "hand.h"

#define SHORT_ROW 12

void hand_spmv(int64_t rows, const int32_t *pos, const int32_t *crd, const double *vals,
               const double *x, double *y) {
    int32_t p = pos[0];
    for (int64_t i = 0; i < rows; i++) {
        const int32_t end = pos[i + 1];
        double s0 = 0;
        if (end - p >= SHORT_ROW) {
            double s1 = 0, s2 = 0, s3 = 0;
            for (; p + 4 <= end; p += 4) {
                s0 += vals[p] * x[crd[p]];
                s1 += vals[p + 1] * x[crd[p + 1]];
                s2 += vals[p + 2] * x[crd[p + 2]];
                s3 += vals[p + 3] * x[crd[p + 3]];
            }
            s0 = (s0 + s1) + (s2 + s3);
        }
        for (; p < end; p++) s0 += vals[p] * x[crd[p]];
        y[i] = s0;
    }
}
