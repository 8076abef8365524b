// Eigen behind C functions. Matrices are stored by columns, as Eigen likes them: those of the transposes, so that
// products go the other way round.
#include <Eigen/Sparse>
#include <cstdint>
#include <cstdlib>
#include <new>

typedef Eigen::SparseMatrix<double, Eigen::ColMajor, int> Matrix;
typedef Eigen::Map<const Matrix> View;
// Products with dense operands read rows as they are.
typedef Eigen::Map<const Eigen::SparseMatrix<double, Eigen::RowMajor, int>> Rows;

// Through this library's malloc, which follows the page policy.
void *operator new(std::size_t size) {
    if (void *block = std::malloc(size)) return block;
    throw std::bad_alloc();
}
void *operator new[](std::size_t size) { return operator new(size); }
void operator delete(void *block) noexcept { std::free(block); }
void operator delete[](void *block) noexcept { std::free(block); }
void operator delete(void *block, std::size_t) noexcept { std::free(block); }
void operator delete[](void *block, std::size_t) noexcept { std::free(block); }

struct Csr {
    int64_t rows, cols;
    const int32_t *pos, *crd;
    const double *vals;
};

static View view(const Csr &a) {
    return View(a.cols, a.rows, a.pos[a.rows], a.pos, a.crd, a.vals);
}

template <class E> static Matrix *total(const E &e) { return new Matrix(e); }
template <class E, class... Rest>
static Matrix *total(const E &e, const View &v, const Rest &...rest) {
    return total(e + v, rest...);
}

static Matrix *sum(int64_t terms, const Csr *of) {
    auto v = [&](int t) { return view(of[t]); };
    switch (terms) {
    case 2: return total(v(0), v(1));
    case 3: return total(v(0), v(1), v(2));
    case 4: return total(v(0), v(1), v(2), v(3));
    case 5: return total(v(0), v(1), v(2), v(3), v(4));
    case 6: return total(v(0), v(1), v(2), v(3), v(4), v(5));
    case 7: return total(v(0), v(1), v(2), v(3), v(4), v(5), v(6));
    case 8: return total(v(0), v(1), v(2), v(3), v(4), v(5), v(6), v(7));
    default: return nullptr;
    }
}

extern "C" {
Matrix *eigen_product(const Csr *a, const Csr *b) {
    try {
        return new Matrix(view(*b) * view(*a));
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
}
Matrix *eigen_sum(int64_t terms, const Csr *of) {
    try {
        return sum(terms, of);
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
}
// Y = A X, or Y = B - A X, of dense matrices by rows.
void eigen_apply(const Csr *a, int64_t columns, const double *x, const double *b, double *y) {
    typedef Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> Dense;
    Rows rows(a->rows, a->cols, a->pos[a->rows], a->pos, a->crd, a->vals);
    if (columns == 1) {
        Eigen::Map<const Eigen::VectorXd> in(x, a->cols);
        Eigen::Map<Eigen::VectorXd> out(y, a->rows);
        if (b) out = Eigen::Map<const Eigen::VectorXd>(b, a->rows) - rows * in;
        else out.noalias() = rows * in;
    } else {
        Eigen::Map<Dense>(y, a->rows, columns).noalias() = rows * Eigen::Map<const Dense>(x, a->cols, columns);
    }
}
// The arrays of a compressed result; the number of its elements.
int64_t eigen_arrays(const Matrix *m, const int32_t **pos, const int32_t **crd, const double **vals) {
    *pos = m->outerIndexPtr(), *crd = m->innerIndexPtr(), *vals = m->valuePtr();
    return m->nonZeros();
}
void eigen_free(Matrix *m) { delete m; }
}
