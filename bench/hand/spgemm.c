/* C(i,j) = A(i,k) * B(k,j), everything in CSR: Gustavson's algorithm, one pass.
 *
 * A row of C is gathered in a dense row of sums and a list of its columns. The list is kept without a branch
 * (every column is stored, and the end moves if it is new): whether a column is new is a coin toss on power
 * laws, where this takes half of the time; on stencils it is a tenth slower. The caller gives room for every
 * product, cleared sums and marks; memory that is not touched costs nothing.
 */
#include "hand.h"

/* Up to this length columns are sorted by insertion. */
#define FEW 24
/* Words of 64 columns in the span of a row, per column of it, up to which a bitmap sorts them. */
#define SPARSE 4

static void insertion(int32_t *list, int64_t n) {
    for (int64_t k = 1; k < n; k++) {
        const int32_t j = list[k];
        int64_t to = k;
        for (; to > 0 && list[to - 1] > j; to--) list[to] = list[to - 1];
        list[to] = j;
    }
}

static void by_bits(int32_t *list, int64_t n, int32_t least, int64_t words, uint64_t *bits) {
    memset(bits, 0, (size_t)words * sizeof *bits);
    for (int64_t k = 0; k < n; k++) {
        const uint32_t j = (uint32_t)(list[k] - least);
        bits[j >> 6] |= 1ull << (j & 63);
    }
    for (int64_t w = 0; w < words; w++)
        for (uint64_t rest = bits[w]; rest; rest &= rest - 1)
            *list++ = least + (int32_t)(w * 64 + __builtin_ctzll(rest));
}

static void by_digits(int32_t *list, int64_t n, int32_t least, int wide, int32_t *other) {
    int32_t *from = list, *to = other;
    const int passes = (wide + 7) / 8, width = (wide + passes - 1) / passes;
    for (int shift = 0; shift < wide; shift += width) {
        const uint32_t mask = (1u << width) - 1;
        uint32_t next[256] = {0}, sum = 0;
        for (int64_t k = 0; k < n; k++) next[(uint32_t)(from[k] - least) >> shift & mask]++;
        for (uint32_t d = 0; d <= mask; d++) {
            const uint32_t count = next[d];
            next[d] = sum, sum += count;
        }
        for (int64_t k = 0; k < n; k++)
            to[next[(uint32_t)(from[k] - least) >> shift & mask]++] = from[k];
        int32_t *const swap = from;
        from = to, to = swap;
    }
    if (from != list) memcpy(list, from, (size_t)n * sizeof *list);
}

static void sort(int32_t *list, int64_t n, uint64_t *bits, int32_t *other) {
    if (n <= FEW) {
        insertion(list, n);
        return;
    }
    int32_t least = list[0], most = list[0];
    for (int64_t k = 1; k < n; k++) {
        least = list[k] < least ? list[k] : least;
        most = list[k] > most ? list[k] : most;
    }
    const int64_t words = (((int64_t)most - least) >> 6) + 1;
    if (words <= SPARSE * n) by_bits(list, n, least, words, bits);
    else by_digits(list, n, least, 32 - __builtin_clz((uint32_t)(most - least) | 1), other);
}

/* `marks` and `sums` hold B's columns of zeros; `list` and `other` so many columns and one more, `bits` a bit
 * for each. Returns the number of elements. */
int64_t hand_spgemm(int64_t rows, const int32_t *a_pos, const int32_t *a_crd, const double *a_vals,
                    const int32_t *b_pos, const int32_t *b_crd, const double *b_vals, int32_t *c_pos,
                    int32_t *c_crd, double *c_vals, uint8_t *marks, double *sums, int32_t *list,
                    int32_t *other, uint64_t *bits, int32_t sorted) {
    int64_t end = 0;
    c_pos[0] = 0;
    for (int64_t i = 0; i < rows; i++) {
        int64_t n = 0;
        for (int64_t p = a_pos[i]; p < a_pos[i + 1]; p++) {
            const double a = a_vals[p];
            const int64_t k = a_crd[p], q_end = b_pos[k + 1];
            for (int64_t q = b_pos[k]; q < q_end; q++) {
                const int64_t j = b_crd[q];
                list[n] = (int32_t)j;
                n += 1 - marks[j];
                marks[j] = 1;
                sums[j] += a * b_vals[q];
            }
        }
        if (sorted) sort(list, n, bits, other);
        for (int64_t q = 0; q < n; q++, end++) {
            const int64_t j = list[q];
            c_crd[end] = (int32_t)j;
            c_vals[end] = sums[j];
            sums[j] = 0, marks[j] = 0;
        }
        c_pos[i + 1] = (int32_t)end;
    }
    return end;
}
