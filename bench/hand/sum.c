/* S(i,j) = A(i,j) + B(i,j) + ..., up to sixteen terms, everything in CSR, in one pass.
 *
 * A merge of all terms at once: the least column at hand is found, and every term moves on by comparing, without
 * branches. Ended rows stand at a column beyond all others. The caller gives room for every nonzero.
 */
#include "hand.h"

#define MOST 16

typedef struct {
    const int32_t *pos, *crd;
    const double *vals;
} term;

INLINE int64_t sum_of(int terms, int64_t rows, const term *of, int32_t *s_pos, int32_t *s_crd,
                      double *s_vals) {
    int64_t n = 0;
    s_pos[0] = 0;
    for (int64_t i = 0; i < rows; i++) {
        int64_t at[MOST], end[MOST];
        int32_t head[MOST];
        for (int t = 0; t < terms; t++) {
            at[t] = of[t].pos[i], end[t] = of[t].pos[i + 1];
            head[t] = at[t] < end[t] ? of[t].crd[at[t]] : INT32_MAX;
        }
        for (;;) {
            int32_t least = head[0];
            for (int t = 1; t < terms; t++) least = head[t] < least ? head[t] : least;
            if (least == INT32_MAX) break;
            double sum = 0;
            for (int t = 0; t < terms; t++) {
                if (head[t] != least) continue;
                sum += of[t].vals[at[t]++];
                head[t] = at[t] < end[t] ? of[t].crd[at[t]] : INT32_MAX;
            }
            s_crd[n] = least, s_vals[n++] = sum;
        }
        s_pos[i + 1] = (int32_t)n;
    }
    return n;
}

int64_t hand_sum(int64_t terms, int64_t rows, const term *of, int32_t *s_pos, int32_t *s_crd,
                 double *s_vals) {
    switch (terms) {
    case 3: return sum_of(3, rows, of, s_pos, s_crd, s_vals);
    case 4: return sum_of(4, rows, of, s_pos, s_crd, s_vals);
    case 7: return sum_of(7, rows, of, s_pos, s_crd, s_vals);
    case 8: return sum_of(8, rows, of, s_pos, s_crd, s_vals);
    case 16: return sum_of(16, rows, of, s_pos, s_crd, s_vals);
    default: return sum_of((int)terms, rows, of, s_pos, s_crd, s_vals);
    }
}
