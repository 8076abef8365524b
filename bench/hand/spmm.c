/* Y(i,j) = A(i,k) * X(k,j), A in CSR, X and Y row-major with a multiple of 32 columns.
 *
 * A tile of one row of Y stays in registers while the row of A passes by. With few columns the tile is
 * too small to hide the latency of the multiply-add, so even and odd nonzeros get a tile each.
 */
#include "hand.h"

INLINE void row_tile(const int width, const int chains, int64_t p, const int64_t end,
                     const int32_t *crd, const double *vals, const double *x, const int64_t n,
                     double *y) {
    vec acc[TILE];
    UNROLL for (int v = 0; v < width * chains; v++) acc[v] = zero();
    for (; p + chains <= end; p += chains) {
        UNROLL for (int c = 0; c < chains; c++) {
            const vec a = broadcast(vals[p + c]);
            const double *row = row_of(x, crd[p + c], n);
            UNROLL for (int v = 0; v < width; v++)
                acc[c * width + v] += a * load(row + v * LANES);
        }
    }
    if (chains == 2 && p < end) {
        const vec a = broadcast(vals[p]);
        const double *row = row_of(x, crd[p], n);
        UNROLL for (int v = 0; v < width; v++) acc[v] += a * load(row + v * LANES);
    }
    UNROLL for (int v = 0; v < width; v++)
        store(y + v * LANES, chains == 2 ? acc[v] + acc[width + v] : acc[v]);
}

INLINE void sweep(const int width, const int chains, int64_t rows, const int32_t *pos,
                  const int32_t *crd, const double *vals, const double *x, const int64_t n,
                  double *y) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < n; j += width * LANES)
            row_tile(width, chains, pos[i], pos[i + 1], crd, vals, x + j, n, y + i * n + j);
}

void hand_spmm(int64_t rows, int64_t n, const int32_t *pos, const int32_t *crd, const double *vals,
               const double *x, double *y) {
    if (n % (TILE * LANES) == 0) sweep(TILE, 1, rows, pos, crd, vals, x, n, y);
    else if (n % (TILE / 2 * LANES) == 0) sweep(TILE / 2, 1, rows, pos, crd, vals, x, n, y);
    else sweep(TILE / 4, 2, rows, pos, crd, vals, x, n, y);
}

/* A(i,j,r) = B(i,j,k) * C(k,r), rank 32: the fibers of B are the rows of a CSR matrix. */
void hand_ttm32(int64_t fibers, const int32_t *pos, const int32_t *crd, const double *vals,
                const double *c, double *out) {
    hand_spmm(fibers, 32, pos, crd, vals, c, out);
}
