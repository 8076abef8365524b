/* TTV and MTTKRP on a 3-tensor stored as (dense, compressed, compressed). TTM is in spmm.c. */
#include "hand.h"

/* A(i,j) = B(i,j,k) * c(k): one dot product per fiber of B; most fibers are very short. */
void hand_ttv(int64_t fibers, const int32_t *pos, const int32_t *crd, const double *vals,
              const double *c, double *out) {
    int32_t p = pos[0];
    for (int64_t f = 0; f < fibers; f++) {
        const int32_t end = pos[f + 1];
        double s = 0;
        for (; p < end; p++) s += vals[p] * c[crd[p]];
        out[f] = s;
    }
}

#define RANK 32
/* Vectors of the rank that are worked on at once: two tiles of them must fit in registers. */
#define WIDTH (RANK / LANES < TILE / 2 ? RANK / LANES : TILE / 2)

INLINE void mttkrp_row(const int32_t *pos1, const int32_t *crd1, const int32_t *pos2,
                       const int32_t *crd2, const double *vals, const double *c, const double *d,
                       double *out) {
    vec sum[WIDTH];
    UNROLL for (int v = 0; v < WIDTH; v++) sum[v] = zero();
    for (int64_t f = pos1[0]; f < pos1[1]; f++) {
        int64_t p = pos2[f];
        const int64_t end = pos2[f + 1];
        vec fiber[WIDTH];
        const vec first = broadcast(vals[p]);
        const double *d_row = row_of(d, crd2[p], RANK);
        UNROLL for (int v = 0; v < WIDTH; v++) fiber[v] = first * load(d_row + v * LANES);
        for (p++; p < end; p++) {
            const vec b = broadcast(vals[p]);
            d_row = row_of(d, crd2[p], RANK);
            UNROLL for (int v = 0; v < WIDTH; v++) fiber[v] += b * load(d_row + v * LANES);
        }
        const double *c_row = row_of(c, crd1[f], RANK);
        UNROLL for (int v = 0; v < WIDTH; v++) sum[v] += fiber[v] * load(c_row + v * LANES);
    }
    UNROLL for (int v = 0; v < WIDTH; v++) store(out + v * LANES, sum[v]);
}

/* A(i,r) = B(i,k,l) * C(k,r) * D(l,r), rank 32: the row of C is factored out of each fiber. */
void hand_mttkrp32(int64_t rows, const int32_t *pos1, const int32_t *crd1, const int32_t *pos2,
                   const int32_t *crd2, const double *vals, const double *c, const double *d,
                   double *out) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t r = 0; r < RANK; r += WIDTH * LANES)
            mttkrp_row(pos1 + i, crd1, pos2, crd2, vals, c + r, d + r, out + i * RANK + r);
}
