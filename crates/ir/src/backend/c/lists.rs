//! Sorts the coordinates of a row in C: alone (`tamis_sort_list_32`, `tamis_sort_list_64`), or each with an element
//! beside it (`tamis_sort_pairs_32_double` and others).
//!
//! Few coordinates, and some that nearly ascend (such as those of the next row of a structured matrix), are sorted by
//! insertion; many in a short span as a bitmap; up to 96 by counting for each how many are smaller, which is
//! branchless and vectorised; others by radix sort. (A list with a duplicate coordinate is left to radix sort.) The
//! methods switch where their times cross. A coordinate takes 8 ns by insertion in a list of 16; by counting 2 to 3 in
//! lists of 10 to 64, and 3.4 in one of 96; by radix sort 6; in a bitmap 2 with a span of four times the length, and 7
//! with 64 times.

/// The definition of a word.
pub(super) fn helper(word: &str) -> Option<String> {
    if word == "tamis_ranks" {
        return Some(RANKS.to_owned());
    }
    let pairs = word.strip_prefix("tamis_sort_pairs_").and_then(|types| types.split_once('_'));
    if let Some((bits, beside)) = pairs {
        return Some(PAIRS.replace("BITS", bits).replace("BESIDE", beside));
    }
    let bits = word
        .strip_prefix("tamis_sort_list_")
        .filter(|bits| ["8", "16", "32", "64"].contains(bits))?;
    // Coordinates of a level `i-j` may be negative.
    let ordered = if bits.len() == 2 && bits != "16" { "intBITS_t" } else { "uintBITS_t" };
    Some(SORT.replace("ORDERED", ordered).replace("BITS", bits))
}

/// Sorts a few records of a key and an element, given the type and name of each; the text is true if the records are
/// still unsorted.
pub(super) fn sort_pairs(
    [(of_key, key), (beside, with)]: [(&str, &str); 2],
    lo: &str,
    hi: &str,
) -> Option<String> {
    let bits = of_key.strip_prefix("int")?.strip_suffix("_t")?;
    Some(format!(
        "tamis_sort_pairs_{bits}_{beside}({key} + ({lo}), {with} + ({lo}), ({hi}) - ({lo}))"
    ))
}

const RANKS: &str = "\
/* How many keys are less than each; 0 if one is repeated. There is room for a multiple of 16 of both. */
static inline int tamis_ranks(int32_t *key, int64_t n, int32_t *rank) {
  const int64_t blocks = (n + 15) / 16;
  for (int64_t k = n; k < blocks * 16; k++) key[k] = 0;
  for (int64_t b = 0; b < blocks; b++) {
    int32_t of[16], less[16] = {0};
    for (int k = 0; k < 16; k++) of[k] = key[b * 16 + k];
    for (int64_t j = 0; j < n; j++)
      for (int k = 0; k < 16; k++) less[k] += of[k] > key[j];
    for (int k = 0; k < 16; k++) rank[b * 16 + k] = less[k];
  }
  int64_t sum = 0;
  for (int64_t k = 0; k < n; k++) sum += rank[k];
  return sum == n * (n - 1) / 2;
}";

const SORT: &str = "\
/* Sorts a list of coordinates; 1 without memory. */
static __attribute__((noinline, unused)) int tamis_sort_list_BITS(uintBITS_t *list, int64_t n) {
  uintBITS_t least = n > 0 ? list[0] : 0, most = least;
  int64_t descents = 0;
  for (int64_t k = 1; k < n; k++) {
    descents += (ORDERED)list[k - 1] > (ORDERED)list[k];
    if ((ORDERED)list[k] < (ORDERED)least) least = list[k];
    if ((ORDERED)list[k] > (ORDERED)most) most = list[k];
  }
  if (descents == 0) return 0;
  const uint64_t span = most - least;
  const int dense = n > 8 && span / 16 <= (uint64_t)n;
  if (n <= 8 || (n <= 32 && descents * 4 <= n)) {
    int64_t k = 1, moved = 0;
    for (; k < n && (n <= 8 || moved <= n); k++) {
      const uintBITS_t c = list[k];
      int64_t to = k;
      for (; to > 0 && (ORDERED)list[to - 1] > (ORDERED)c; to--) list[to] = list[to - 1];
      list[to] = c;
      moved += k - to;
    }
    if (k == n) return 0;
  }
  if (n <= 96 && !dense && span <= INT32_MAX) {
    int32_t key[96], rank[96];
    for (int64_t k = 0; k < n; k++) key[k] = (int32_t)(list[k] - least);
    if (tamis_ranks(key, n, rank)) {
      for (int64_t k = 0; k < n; k++) list[rank[k]] = (uintBITS_t)(least + (uintBITS_t)key[k]);
      return 0;
    }
  }
  uint64_t few[256], *room = n <= 256 ? few : malloc((size_t)n * sizeof *room);
  if (!room) return 1;
  uint64_t repeated = !dense;
  if (dense) {
    const uint64_t words = span / 64 + 1;
    for (uint64_t w = 0; w < words; w++) room[w] = 0;
    for (int64_t k = 0; k < n; k++) {
      const uint64_t c = list[k] - least, bit = (uint64_t)1 << (c & 63);
      repeated |= room[c >> 6] & bit;
      room[c >> 6] |= bit;
    }
    if (!repeated) {
      uintBITS_t *to = list;
      for (uint64_t w = 0; w < words; w++)
        for (uint64_t rest = room[w]; rest; rest &= rest - 1)
          *to++ = least + (uintBITS_t)(w * 64 + (uint64_t)__builtin_ctzll(rest));
    }
  }
  if (repeated) {
    uintBITS_t *from = list, *to = (uintBITS_t *)room;
    int bits = 1;
    while (bits < 64 && span >> bits) bits++;
    const int passes = (bits + 7) / 8, width = (bits + passes - 1) / passes;
    const uint64_t mask = ((uint64_t)1 << width) - 1;
    for (int pass = 0; pass < passes; pass++) {
      const int shift = pass * width;
      int64_t next[256] = {0}, sum = 0;
      for (int64_t k = 0; k < n; k++) next[(uint64_t)(from[k] - least) >> shift & mask]++;
      for (uint64_t d = 0; d <= mask; d++) { const int64_t count = next[d]; next[d] = sum; sum += count; }
      for (int64_t k = 0; k < n; k++) to[next[(uint64_t)(from[k] - least) >> shift & mask]++] = from[k];
      uintBITS_t *const swap = from; from = to; to = swap;
    }
    if (from != list)
      for (int64_t k = 0; k < n; k++) list[k] = from[k];
  }
  if (room != few) free(room);
  return 0;
}";

const PAIRS: &str = "\
/* Sorts a few distinct keys with what lies beside each; 1 if they are many, far apart or repeated. */
static __attribute__((noinline, unused)) int tamis_sort_pairs_BITS_BESIDE(intBITS_t *key, BESIDE *with, int64_t n) {
  if (n > 64) return 1;
  intBITS_t least = n > 0 ? key[0] : 0, most = least;
  int sorted = 1;
  for (int64_t k = 1; k < n; k++) {
    sorted &= key[k - 1] <= key[k];
    if (key[k] < least) least = key[k];
    if (key[k] > most) most = key[k];
  }
  if (sorted) return 0;
  if ((uint64_t)most - (uint64_t)least > INT32_MAX) return 1;
  int32_t above[64], rank[64];
  BESIDE old[64];
  for (int64_t k = 0; k < n; k++) above[k] = (int32_t)(key[k] - least);
  if (!tamis_ranks(above, n, rank)) return 1;
  for (int64_t k = 0; k < n; k++) old[k] = with[k];
  for (int64_t k = 0; k < n; k++) {
    key[rank[k]] = (intBITS_t)(least + above[k]);
    with[rank[k]] = old[k];
  }
  return 0;
}";
