"""What calls take, what programs become, and both in notebooks."""

import threading

import numpy as np
import pytest
import scipy.sparse as sp
import tamis
from tamis._programs import Kernel

A = tamis.asarray(np.diag([1.0, 2.0, 3.0]), format="csr")
X = np.ones(3)


def test_a_profile_has_each_call_of_a_kernel():
    kernel = tamis.compile("C(i,j) = A(i,k) * A(k,j); y(i) = C(i,j) * x(j)", C="csr")
    expected = {name: tamis.asarray(x).todense() for name, x in kernel.all(A=A, x=X).items()}
    with tamis.profile() as found:
        y, both = kernel(A=A, x=X), kernel.all(A=A, x=X)
        np.add(A, A)
        A @ X
        A * 2
        tamis.einsum("ij,j->i", sp.csr_array(A.to_scipy()), X)
    np.testing.assert_array_equal(y, expected["y"])
    assert list(both) == ["C", "y"]
    assert all((tamis.asarray(both[name]).todense() == x).all() for name, x in expected.items())
    texts = [call.expression for call in found.calls]
    assert texts[:2] == [kernel.expression] * 2 and len(texts) == 5
    assert all(call.tier in ("jit", "c") and call.run_seconds > 0 for call in found.calls)
    assert found.calls[0].bytes == A.nbytes + 2 * X.nbytes + both["C"].nbytes
    assert found.calls[4].bytes == A.nbytes + 2 * X.nbytes
    assert found.seconds == pytest.approx(
        sum(call.compile_seconds + call.run_seconds for call in found.calls)
    )
    shown = repr(found).splitlines()
    assert len(shown) == 5 and any(kernel.expression in line and " 2 " in line for line in shown)
    assert found._repr_html_().count("<tr>") == 5


def test_a_profile_of_a_program_has_its_loops():
    program = "C(i,j) = A(i,k) * A(k,j); y(i) = C(i,j) * x(j)"
    kernel = tamis.compile(program, C="csr")
    found = tamis.profile(kernel, runs=4, A=A, x=X)
    np.testing.assert_array_equal(found.result, kernel(A=A, x=X))
    assert len(found.run_seconds) == 4 and set(found.ran_on) <= {"jit", "c"}
    assert found.counted and found.bandwidth > 1e8 and found.threads >= 1
    assert found.stages["cranelift"] > 0 and all(t >= 0 for t in found.stages.values())
    product, sum_ = found.kernels
    assert (product["result"], sum_["result"]) == ("C", "y") and product["values"] == 3
    assert [row["variable"] for row in sum_["loops"]] == ["i", "j"]
    rows = [row for row in product["loops"] if not row["of_code"]]
    assert [(row["depth"], row["drivers"], row["iterations"]) for row in rows] == [
        (0, [], 3),
        (1, ["A"], 3),
        (2, ["A"], 3),
    ]
    assert all(row["estimated_iterations"] == 3 for row in rows)
    assert "by compute_y" in repr(found) and repr(found)[:40] in found._repr_html_()
    assert tamis.profile("s = runs(i)", operands={"runs": X}).result == 3
    with pytest.raises(tamis.TamisError, match="0 times"):
        tamis.profile(kernel, runs=0, A=A, x=X)
    with pytest.raises(tamis.TamisError, match="no program"):
        tamis.profile(A=A)
    with pytest.raises(tamis.TamisError):
        tamis.profile(kernel, A=A)


def test_profiles_nest_and_leave_nothing():
    with tamis.profile() as outer:
        A @ X
        with tamis.profile() as inner:
            A @ X
        with pytest.raises(tamis.TamisValueError), tamis.profile() as failed:
            tamis.evaluate("y(i) = A(i,j) * x(j)", A=A, x=np.ones(4))
        threads = [threading.Thread(target=lambda: A @ X) for _ in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
    A @ X
    assert (len(outer.calls), len(inner.calls), len(failed.calls)) == (6, 1, 0)
    assert not {"__call__", "all"} & set(vars(Kernel))


def test_an_explanation_is_that_of_operands():
    program = "y(i) = A(i,j) * x(j)"
    sparse, dense = tamis.explain(program, A=A, x=X), tamis.explain(program)
    assert "compressed" in sparse.stage("plan") and "compressed" not in dense.stage("plan")
    assert all(title in repr(sparse) for title in ("index notation", "loops", "plan"))
    page = sparse._repr_html_()
    assert page.count("<details") == 6 and "<svg" in page and "&lt;" in page
    kernel = tamis.compile(program, A="csc", schedule="reorder(j, i)")
    chosen = tamis.explain(kernel, A=A, x=X)
    assert chosen.kernel.schedule == kernel.schedule
    assert chosen.stage("cin") == kernel.explain("cin")
    kernel = tamis.compile(program)
    kernel(A, X)
    assert tamis.explain(kernel).stage("plan") == kernel.explain("plan")
    with pytest.raises(tamis.TamisValueError):
        tamis.explain("y(i) = A(i,j) *")
    with pytest.raises(tamis.TamisError):
        tamis.explain(program, A=A, z=X)


@pytest.fixture(scope="module")
def shell():
    pytest.importorskip("IPython")
    from IPython.core.interactiveshell import InteractiveShell

    made = InteractiveShell.instance()
    made.run_line_magic("load_ext", "tamis")
    yield made
    InteractiveShell.clear_instance()


def test_a_cell_computes_its_statements(shell, capsys):
    shell.push({"A": A, "B": A * 2, "x": X, "tamis": tamis})
    cell = "%%tamis C=csr --profile\n# both\nC(i,j) = A(i,k) * B(k,j)  # first\n\ny(i) = C(i,j) * x(j);\n"
    made = shell.run_cell(cell)
    np.testing.assert_array_equal(made.result, [2, 8, 18])
    assert shell.user_ns["C"].format == "csr" and shell.user_ns["y"] is made.result
    assert "compile ms" in capsys.readouterr().out
    assert shell.run_cell("%tamis s = y(i) * x(i)").result == 28
    shell.run_cell("%%tamis C=csr --explain\nC(i,j) = A(i,k) * B(k,j)")
    assert "loops" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ("%%tamis\ny(i) = nothing(i)", "there is no variable nothing"),
        ("%%tamis --fast\ny(i) = A(i,j)", "does not know --fast"),
        ("%%tamis csr\ny(i) = A(i,j)", "does not know csr"),
        ("%%tamis Z=csr\ny(i) = A(i,j)", "no tensor named Z"),
        ("%%tamis\ny(i) = ", "error"),
    ],
)
def test_a_cell_says_what_is_wrong(shell, cell, told):
    shell.push({"A": A})
    made = shell.run_cell(cell)
    assert isinstance(made.error_in_exec, tamis.TamisValueError) and told in str(made.error_in_exec)
