"""Solvers: residuals, smoothers, Krylov steps, triple products, Kronecker structure, power flow."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import tamis
from data import stochastic
from program import like, program, repeated


def system(data):
    """A matrix with a dominant diagonal, and two vectors."""
    A = stochastic(data.mesh)
    A = sp.csr_array(A + sp.diags_array(A.sum(axis=1) + 1))
    return dict(A=A, x=data.random(A.shape[0]), b=data.random(A.shape[0], seed=1))


def aggregates(data, n):
    """A prolongation that joins eight vertices each, smoothed."""
    rows = np.arange(n)
    P = sp.csr_array((np.ones(n), (rows, rows // 8)), shape=(n, (n + 7) // 8))
    return sp.csr_array(data.mesh @ P * 0.1 + P)


@program
class residual_norm:
    """The square of the norm of a residual."""

    def inputs(data):
        return system(data)

    def tamis(A, x, b):
        return tamis.evaluate("r(i) = b(i) - A(i,j) * x(j); s = r(i) * r(i)", A=A, x=x, b=b)

    def scipy(A, x, b):
        r = b - A @ x
        return r @ r


@program
class jacobi:
    """A step of Jacobi's iteration with damping."""

    def inputs(data):
        made = system(data)
        return made | dict(d=made["A"].diagonal())

    def tamis(A, x, b, d):
        return tamis.evaluate("y(i) = x(i) + 0.7 * (b(i) - A(i,j) * x(j)) / d(i)", A=A, x=x, b=b, d=d)

    def scipy(A, x, b, d):
        return x + 0.7 * (b - A @ x) / d


@program
class chebyshev:
    """A step of Chebyshev's recurrence for sixteen vectors at once."""

    def inputs(data):
        A = stochastic(data.mesh)
        return dict(A=A, X=data.random(A.shape[0], 16), Y=data.random(A.shape[0], 16, seed=1))

    def tamis(A, X, Y):
        return tamis.evaluate("Z(i,c) = 2 * A(i,j) * Y(j,c) - X(i,c)", A=A, X=X, Y=Y)

    def scipy(A, X, Y):
        return 2 * (A @ Y) - X


@program
class conjugate_gradients:
    """A step of conjugate gradients."""

    def inputs(data):
        made = system(data)
        A, x, b = made["A"], made["x"], made["b"]
        r = b - A @ x
        return dict(A=A, x=x, r=r, p=r.copy())

    def tamis(A, x, r, p):
        return tamis.evaluate(
            "q(i) = A(i,j) * p(j); rho = r(i) * r(i); a = rho / sum(i, p(i) * q(i));"
            "y(i) = x(i) + a * p(i); s(i) = r(i) - a * q(i); next(i) = s(i) + s(j) * s(j) / rho * p(i)",
            A=A, x=x, r=r, p=p,
        )  # fmt: skip

    def scipy(A, x, r, p):
        q = A @ p
        rho = r @ r
        a = rho / (p @ q)
        x = x + a * p
        s = r - a * q
        return s + (s @ s) / rho * p


@program
class neumann:
    """A preconditioner: two terms of Neumann's series."""

    def inputs(data):
        made = system(data)
        return dict(A=made["A"], r=made["b"], d=made["A"].diagonal())

    def tamis(A, r, d):
        return tamis.evaluate("z(i) = (2 * r(i) - A(i,j) * r(j) / d(j)) / d(i)", A=A, r=r, d=d)

    def scipy(A, r, d):
        return (2 * r - A @ (r / d)) / d


@program
class heat_step:
    """An explicit step of the heat equation with sources."""

    def inputs(data):
        made = system(data)
        return dict(A=made["A"], u=made["x"], f=made["b"], dt=0.01)

    def tamis(A, u, f, dt):
        return tamis.evaluate("v(i) = u(i) + dt * (f(i) - A(i,j) * u(j))", A=A, u=u, f=f, dt=dt)

    def scipy(A, u, f, dt):
        return u + dt * (f - A @ u)


@program
class galerkin:
    """The matrix of the next coarser level of a multigrid method."""

    def inputs(data):
        A = system(data)["A"]
        return dict(A=A, P=aggregates(data, A.shape[0]))

    def tamis(A, P):
        return tamis.evaluate("C(p,q) = P(i,p) * A(i,j) * P(j,q)", A=A, P=P)

    def scipy(A, P):
        return P.T @ (A @ P)


@program
class time_step_matrix:
    """Mass plus time step times stiffness."""

    def inputs(data):
        return dict(M=stochastic(data.mesh, 1), K=system(data)["A"], dt=0.01)

    def tamis(M, K, dt):
        return tamis.evaluate("S(i,j) = M(i,j) + dt * K(i,j)", M=M, K=K, dt=dt)

    def scipy(M, K, dt):
        return M + dt * K


@program
class symmetric_part:
    """The symmetric part of a matrix."""

    def inputs(data):
        return dict(A=system(data)["A"])

    def tamis(A):
        return tamis.evaluate("H(i,j) = (A(i,j) + A(j,i)) / 2", A=A)

    def scipy(A):
        return (A + A.T) / 2


@program
class equilibrated:
    """A matrix with its rows and columns scaled."""

    def inputs(data):
        A = system(data)["A"]
        return dict(A=A, r=data.random(A.shape[0]), c=data.random(A.shape[0], seed=1))

    def tamis(A, r, c):
        return tamis.evaluate("B(i,j) = r(i) * A(i,j) * c(j)", A=A, r=r, c=c)

    def scipy(A, r, c):
        return like(A, A.data * repeated(A, r) * c[A.indices])


@program
class difference_norm:
    """The square of Frobenius' norm of the difference of two matrices."""

    def inputs(data):
        return dict(A=system(data)["A"], B=stochastic(data.mesh, 1))

    def tamis(A, B):
        return tamis.evaluate("e = sum(i, j, square(A(i,j) - B(i,j)))", A=A, B=B)

    def scipy(A, B):
        difference = (A - B).data
        return difference @ difference


@program
class largest_row_sum:
    """The norm of a matrix for the largest element."""

    def inputs(data):
        return dict(A=system(data)["A"])

    def tamis(A):
        return tamis.evaluate("m = max(i, sum(j, abs(A(i,j))))", A=A)

    def scipy(A):
        return np.add.reduceat(np.abs(A.data), A.indptr[:-1]).max()


@program
class product_at_pattern:
    """A product of triangles at the entries of a matrix, as incomplete factorisations need it."""

    def inputs(data):
        A = system(data)["A"]
        return dict(A=A, L=sp.csr_array(sp.tril(A)), U=sp.csr_array(sp.triu(A)))

    def tamis(A, L, U):
        return tamis.evaluate("R(i,j) = A(i,j) - (A(i,j) != 0) * L(i,k) * U(k,j)", A=A, L=L, U=U)

    def scipy(A, L, U):
        return A - (L @ U).multiply(A != 0)


@program
class kronecker_sum:
    """A Kronecker sum times a vector that is kept as a matrix."""

    def inputs(data):
        n = data.size(1000)
        A, B = (sp.random_array((n, n), density=5 / n, format="csr", rng=s) for s in (1, 2))
        return dict(A=A, B=B, X=data.random(n, n))

    def tamis(A, B, X):
        return tamis.evaluate("Y(i,j) = A(i,k) * X(k,j) + B(j,l) * X(i,l)", A=A, B=B, X=X)

    def scipy(A, B, X):
        return A @ X + X @ B.T


@program
class kronecker_apply:
    """A Kronecker product times a vector that is kept as a matrix."""

    def inputs(data):
        return kronecker_sum.inputs(data)

    def tamis(A, B, X):
        return tamis.evaluate("Y(i,j) = A(i,k) * X(k,l) * B(j,l)", A=A, B=B, X=X)

    def scipy(A, B, X):
        return (A @ X) @ B.T


@program
class kronecker_product:
    """The Kronecker product of two sparse matrices, as a tensor of four axes."""

    def inputs(data):
        n = max(data.size(200), 10)
        A, B = (sp.random_array((n, n), density=5 / n, format="csr", rng=s) for s in (1, 2))
        return dict(A=A, B=B)

    def tamis(A, B):
        made = tamis.evaluate("K(i,k,j,l) = A(i,j) * B(k,l)", A=A, B=B)
        return made.reshape(A.shape[0] * B.shape[0], -1)

    def scipy(A, B):
        return sp.kron(A, B, format="csr")


@program
class power_injections:
    """The complex power that flows into each node of a grid."""

    def inputs(data):
        n = data.grid.shape[0]
        return dict(Y=data.grid, V=data.random(n) * np.exp(1j * data.random(n, seed=1)))

    def tamis(Y, V):
        return tamis.evaluate("S(i) = V(i) * conj(sum(j, Y(i,j) * V(j)))", Y=Y, V=V)

    def scipy(Y, V):
        return V * np.conj(Y @ V)


@program
class power_jacobian:
    """How power changes with the angles of voltages: the Jacobian of Newton's power flow."""

    def inputs(data):
        return power_injections.inputs(data)

    def tamis(Y, V):
        D = sp.eye_array(len(V), format="csr")
        return tamis.evaluate(
            "I(i) = Y(i,j) * V(j); J(i,j) = 1j * V(i) * conj(D(i,j) * I(i) - Y(i,j) * V(j))",
            Y=Y, V=V, D=D,
        )  # fmt: skip

    def scipy(Y, V):
        # As MATPOWER and pandapower have it, with products by diagonals on the values.
        current = sp.diags_array(Y @ V, format="csr")
        within = current - like(Y, Y.data * V[Y.indices])
        return like(within, 1j * repeated(within, V) * np.conj(within.data))
