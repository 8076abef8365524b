/* The page policy of src/pages.rs for libraries that allocate through libc: preloaded into Python, which
 * inherits TAMIS_BENCH_HUGE or not, and linked into the C++ peers. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

/* Whether to ask for huge pages; -1: as the environment says. */
int pages_huge = -1;

/* NumPy's threshold. */
#define LARGE ((size_t)4 << 20)
#define PAGE ((uintptr_t)4096)

static void *advise(void *block, size_t size) {
    if (!block || size < LARGE) return block;
    if (pages_huge < 0) pages_huge = getenv("TAMIS_BENCH_HUGE") != NULL;
    if (pages_huge) {
        const uintptr_t from = ((uintptr_t)block + PAGE - 1) & ~(PAGE - 1);
        const uintptr_t to = ((uintptr_t)block + size) & ~(PAGE - 1);
        /* A kernel that declines leaves small pages, which is no error. */
        madvise((void *)from, to - from, MADV_HUGEPAGE);
    }
    return block;
}

void *malloc(size_t size) { return advise(__libc_malloc(size), size); }
void *calloc(size_t count, size_t size) {
    return advise(__libc_calloc(count, size), count * size);
}
void *realloc(void *block, size_t size) { return advise(__libc_realloc(block, size), size); }
void *memalign(size_t align, size_t size) { return advise(__libc_memalign(align, size), size); }
void *aligned_alloc(size_t align, size_t size) { return memalign(align, size); }
int posix_memalign(void **block, size_t align, size_t size) {
    *block = memalign(align, size);
    return *block ? 0 : 12;
}
