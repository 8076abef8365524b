/* A(i,l) = B(i,j) * C(i,k) * D(j,k) * E(j,l), B in CSR, C, D and E row-major with 64 columns.
 *
 * The rows of A and of C stay in registers while the row of B passes by, so that each nonzero is one inner
 * product with a row of D, two chains long, and one row of E added.
 */
#include "hand.h"

#define COLUMNS 64
#define VECTORS (COLUMNS / LANES)

INLINE double lanes_added(vec s) {
    double sum = 0;
    UNROLL for (int l = 0; l < LANES; l++) sum += s[l];
    return sum;
}

void hand_sddmm_spmm64(int64_t rows, const int32_t *pos, const int32_t *crd, const double *vals,
                       const double *c, const double *d, const double *e, double *a) {
    for (int64_t i = 0; i < rows; i++) {
        vec row[VECTORS], sum[VECTORS];
        UNROLL for (int v = 0; v < VECTORS; v++) {
            row[v] = load(c + i * COLUMNS + v * LANES);
            sum[v] = zero();
        }
        for (int64_t p = pos[i]; p < pos[i + 1]; p++) {
            const double *of_d = row_of(d, crd[p], COLUMNS), *of_e = row_of(e, crd[p], COLUMNS);
            vec even = zero(), odd = zero();
            UNROLL for (int v = 0; v < VECTORS; v += 2) {
                even += row[v] * load(of_d + v * LANES);
                odd += row[v + 1] * load(of_d + (v + 1) * LANES);
            }
            const vec s = broadcast(vals[p] * lanes_added(even + odd));
            UNROLL for (int v = 0; v < VECTORS; v++) sum[v] += s * load(of_e + v * LANES);
        }
        UNROLL for (int v = 0; v < VECTORS; v++) store(a + i * COLUMNS + v * LANES, sum[v]);
    }
}
