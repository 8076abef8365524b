//! Computes lengths of arrays on the host: if numbers and last elements of operands determine them, the host need not
//! wait for a kernel.
//!
//! ```text
//! tiles = (A2_pos[A1_size] + 4095) / 4096; reserve y_at, tiles        A2_pos has A1_size + 1 elements, and ends with 70000
//! ```

use crate::algebra::eval;
use crate::datatype::Scalar;
use crate::ids::{Array, Var};
use crate::ir::{Expr, Stmt};
use std::collections::BTreeMap;

/// The values that the host knows in a call.
pub trait HostValues {
    /// The value of a parameter.
    fn scalar(&self, var: Var) -> Option<Scalar>;
    /// An element of an array of integers.
    fn element(&self, array: Array, at: i64) -> Option<i64>;
}

/// The lengths that statements ([`Launch::lengths`](super::Launch::lengths)) compute, one behind the other; `None` if
/// only the device knows one.
pub fn lengths(stmts: &[Stmt], known: &dyn HostValues) -> Option<Vec<i64>> {
    let mut host = Host { vars: BTreeMap::new(), known };
    let mut found = vec![];
    for s in stmts {
        match s {
            Stmt::Assign { .. } => host.assigned(std::slice::from_ref(s)),
            Stmt::Reserve { len, .. } => found.push(host.value(len)?.as_i64()),
            _ => return None,
        }
    }
    Some(found)
}

/// The number of blocks of a kernel ([`Launch::blocks`](super::Launch::blocks)) with work; `None` if only the device
/// knows.
pub fn blocks((before, count): &(Vec<Stmt>, Expr), known: &dyn HostValues) -> Option<u32> {
    let mut host = Host { vars: BTreeMap::new(), known };
    host.assigned(before);
    let count = host.value(count)?.as_i64();
    Some(u32::try_from(count.max(1)).unwrap_or(u32::MAX))
}

/// The elements of arrays that follow from lengths: each with its array, index and value.
pub fn told(stmts: &[Stmt], lengths: &[i64], known: &dyn HostValues) -> Vec<(Array, i64, i64)> {
    let host = Host { vars: BTreeMap::new(), known };
    let reserved = stmts.iter().filter_map(|s| match s {
        Stmt::Reserve { len, .. } => Some(len),
        _ => None,
    });
    let element = |(len, value): (&Expr, &i64)| match len {
        Expr::Load { array, index, lanes: 1 } => {
            Some((*array, host.value(index)?.as_i64(), *value))
        }
        _ => None,
    };
    reserved.zip(lengths).filter_map(element).collect()
}

struct Host<'k> {
    vars: BTreeMap<Var, Scalar>,
    known: &'k dyn HostValues,
}

impl Host<'_> {
    /// Records the values of assigned variables.
    fn assigned(&mut self, stmts: &[Stmt]) {
        for s in stmts {
            if let Stmt::Assign { var, value } = s {
                match self.value(value) {
                    Some(value) => self.vars.insert(*var, value),
                    None => self.vars.remove(var),
                };
            }
        }
    }

    fn value(&self, e: &Expr) -> Option<Scalar> {
        match e {
            Expr::Const(c) => Some(*c),
            Expr::Var(v) => self.vars.get(v).copied().or_else(|| self.known.scalar(*v)),
            Expr::Load { array, index, lanes: 1 } => {
                self.known.element(*array, self.value(index)?.as_i64()).map(Scalar::I64)
            }
            Expr::Binary(op, a, b) => Some(eval::binary(*op, self.value(a)?, self.value(b)?)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::BinaryOp;
    use crate::ids::Id;
    use crate::ir::build::{add, binary, int, load};

    /// `n` is 5; of six positions, the last one is known.
    struct Some5;

    impl HostValues for Some5 {
        fn scalar(&self, var: Var) -> Option<Scalar> {
            (var == Var::new(0)).then_some(Scalar::I64(5))
        }
        fn element(&self, array: Array, at: i64) -> Option<i64> {
            (array == Array::new(0) && at == 5).then_some(100)
        }
    }

    fn check(len: Expr, expected: Option<i64>) {
        let tiles = Var::new(1);
        let n = Expr::Var(Var::new(0));
        let count = binary(BinaryOp::Div, add(load(Array::new(0), n), int(31)), int(32));
        let stmts = [
            Stmt::Assign { var: tiles, value: count },
            Stmt::Reserve { array: Array::new(1), len },
        ];
        assert_eq!(lengths(&stmts, &Some5), expected.map(|len| vec![len]));
    }

    #[test]
    fn numbers_and_ends_tell_lengths() {
        let var = |k| Expr::Var(Var::new(k));
        check(int(3), Some(3));
        check(add(var(0), int(1)), Some(6));
        check(add(var(1), int(1)), Some(5));
        check(var(2), None);
        check(load(Array::new(0), add(var(0), int(-1))), None);
        check(load(Array::new(1), var(0)), None);
    }

    #[test]
    fn lengths_tell_ends() {
        let crd = Stmt::Reserve {
            array: Array::new(1),
            len: load(Array::new(2), add(Expr::Var(Var::new(0)), int(2))),
        };
        let other = Stmt::Reserve { array: Array::new(3), len: int(4) };
        assert_eq!(told(&[crd, other], &[70, 4], &Some5), [(Array::new(2), 7, 70)]);
    }
}
