"""Makes the archives beside it: a matrix of 6 x 4 in each layout of SciPy, and in binsparse."""

import numpy as np
import scipy.sparse as sparse

whole = np.zeros((6, 4))
whole[[0, 0, 2, 3, 5], [0, 3, 1, 1, 2]] = [1, 2, 3, 4.5, -5]
matrix = sparse.csr_array(whole)
for name in ["csr", "csc", "coo", "dia"]:
    sparse.save_npz(f"{name}.npz", matrix.asformat(name))
sparse.save_npz("bsr.npz", matrix.tobsr(blocksize=(3, 2)), compressed=False)
sparse.save_npz("nd.npz", sparse.coo_array(whole.reshape(2, 3, 4)))
sparse.save_npz("matrix.npz", sparse.csc_matrix(whole + 1j * whole))
