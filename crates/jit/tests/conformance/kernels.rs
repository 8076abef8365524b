//! Two kernels built by hand: SpMV, and SpMM with a register tile.

use crate::harness::Maker;
use tamis_ir::algebra::BinaryOp;
use tamis_ir::datatype::{DataType, Register, Scalar};
use tamis_ir::ids::Array;
use tamis_ir::interpret::{Argument, Buffer};
use tamis_ir::ir::build::{add, assign, binary, for_loop, int, load, mul, store};
use tamis_ir::ir::{ArrayRole, Expr, Function, Stmt};

/// A matrix in CSR with 32-bit positions and coordinates.
pub struct Csr {
    pub rows: usize,
    pub pos: Vec<i32>,
    pub crd: Vec<i32>,
    pub vals: Vec<f64>,
}

/// A square matrix with so many entries in each row, at scattered columns, of small integers.
pub fn scattered(rows: usize, per_row: usize) -> Csr {
    let entries = rows * per_row;
    let pos = (0..=rows).map(|i| (i * per_row) as i32).collect();
    let crd = (0..entries).map(|p| (p.wrapping_mul(2654435761) % rows) as i32).collect();
    let vals = (0..entries).map(|p| (p % 7) as f64 - 3.0).collect();
    Csr { rows, pos, crd, vals }
}

impl Csr {
    /// The arguments for the matrix, a dense operand and a result of so many columns.
    pub fn arguments(&self, columns: usize) -> Vec<Argument> {
        let dense = (0..self.rows * columns).map(|k| (k % 5) as f64 - 2.0).collect();
        vec![
            Argument::Array(Buffer::I32(self.pos.clone())),
            Argument::Array(Buffer::I32(self.crd.clone())),
            Argument::Array(Buffer::F64(self.vals.clone())),
            Argument::Array(Buffer::F64(dense)),
            Argument::Array(Buffer::of(DataType::F64, self.rows * columns)),
        ]
    }
}

fn csr_params(m: &mut Maker) -> [Array; 5] {
    let mut input = |elem| m.array(elem, ArrayRole::Input);
    let (pos, crd) = (input(DataType::I32), input(DataType::I32));
    let (vals, dense) = (input(DataType::F64), input(DataType::F64));
    [pos, crd, vals, dense, m.array(DataType::F64, ArrayRole::Output)]
}

/// `y(i) = A(i,j) * x(j)`.
pub fn spmv() -> Function {
    let mut m = Maker::new();
    let [pos, crd, vals, x, y] = csr_params(&mut m);
    let (i, p, sum) = (m.index(), m.index(), m.var(Register::F64, 1));
    let v = Expr::Var;
    let product = mul(load(vals, v(p)), load(x, load(crd, v(p))));
    let inner = vec![assign(sum, binary(BinaryOp::Add, v(sum), product))];
    let rows = binary(BinaryOp::Sub, Expr::Len(pos), int(1));
    let row = vec![
        assign(sum, Expr::Const(Scalar::F64(0.0))),
        for_loop(p, load(pos, v(i)), load(pos, add(v(i), int(1))), inner),
        store(y, v(i), v(sum)),
    ];
    m.body(vec![for_loop(i, int(0), rows, row)])
}

/// `C(i,k) = A(i,j) * B(j,k)` for so many columns, in tiles of so many vectors.
pub fn spmm(columns: i64, vectors: i64, lanes: u16) -> Function {
    let mut m = Maker::new();
    let [pos, crd, vals, b, c] = csr_params(&mut m);
    let (i, k, p) = (m.index(), m.index(), m.index());
    let (row, scale) = (m.index(), m.var(Register::F64, 1));
    let tile: Vec<_> = (0..vectors).map(|_| m.var(Register::F64, lanes)).collect();
    let v = Expr::Var;
    let splat = |e: Expr| Expr::Splat(Box::new(e), lanes);
    let place = |base: Expr, n: usize| add(base, int(n as i64 * i64::from(lanes)));
    let mut inner = vec![
        assign(scale, load(vals, v(p))),
        assign(row, add(mul(load(crd, v(p)), int(columns)), v(k))),
    ];
    for (n, &t) in tile.iter().enumerate() {
        let wide = Expr::Load { array: b, index: Box::new(place(v(row), n)), lanes };
        inner.push(assign(t, Expr::Fma(Box::new(splat(v(scale))), Box::new(wide), Box::new(v(t)))));
    }
    let zero = || splat(Expr::Const(Scalar::F64(0.0)));
    let mut body: Vec<Stmt> = tile.iter().map(|&t| assign(t, zero())).collect();
    body.push(for_loop(p, load(pos, v(i)), load(pos, add(v(i), int(1))), inner));
    let out = add(mul(v(i), int(columns)), v(k));
    body.extend(tile.iter().enumerate().map(|(n, &t)| store(c, place(out.clone(), n), v(t))));
    let step = vectors * i64::from(lanes);
    let tiles = vec![Stmt::For { var: k, lo: int(0), hi: int(columns), step, body }];
    let rows = binary(BinaryOp::Sub, Expr::Len(pos), int(1));
    m.body(vec![for_loop(i, int(0), rows, tiles)])
}
