//! Syntax of other languages, and how to write it in index notation.
//!
//! ```text
//! x(i)**2                     pow(x(i), 2)
//! mean(j, A(i,j))             sum(j, A(i,j)) / sum(j, 1.0)
//! where(x(i) > 0, x(i), 0)    (x(i) > 0) * x(i)
//! A(i,j+1)                    A(i,j[1:])
//! Infinity                    inf
//! ```
//!
//! Inputs are texts of operands as the user wrote them, outputs are texts to suggest.

use super::lex::{Kind, is_name, lex};
use super::words::builtin;
use tamis_ir::datatype::DataType;

/// How tightly a foreign operator binds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Strength {
    /// Tighter than `*`.
    Power,
    /// As `*`.
    Product,
    /// As `==`.
    Comparison,
    /// Weaker than comparisons.
    Logic,
}

/// Operators of other languages, longer ones before their prefixes, and their meanings.
const INFIX: [(&str, Strength, Meaning); 45] = {
    use Meaning::*;
    use Strength::*;
    [
        ("**", Power, Function("pow")),
        (".^", Power, Function("pow")),
        ("^", Power, Function("pow")),
        ("pow", Product, Function("pow")),
        (".*", Product, Own("*")),
        ("./", Product, Own("/")),
        (".+", Product, Own("+")),
        (".-", Product, Own("-")),
        ("\u{d7}", Product, Own("*")),
        ("\u{b7}", Product, Own("*")),
        ("\u{22c5}", Product, Own("*")),
        ("\u{2299}", Product, Own("*")),
        ("\u{f7}", Product, Own("/")),
        ("\u{2212}", Product, Own("-")),
        ("\u{2013}", Product, Own("-")),
        ("<<", Comparison, Shift("*")),
        (">>", Comparison, Shift("/")),
        ("===", Comparison, Own("==")),
        ("!==", Comparison, Own("!=")),
        ("<>", Comparison, Own("!=")),
        ("~=", Comparison, Own("!=")),
        ("\u{2260}", Comparison, Own("!=")),
        ("\u{2264}", Comparison, Own("<=")),
        ("\u{2265}", Comparison, Own(">=")),
        ("\u{2227}", Logic, Function("and")),
        ("\u{2228}", Logic, Function("or")),
        ("\u{2295}", Logic, Function("xor")),
        ("//", Product, Floor),
        ("%", Product, Function("mod")),
        ("mod", Product, Function("mod")),
        ("min", Product, Function("min")),
        ("max", Product, Function("max")),
        ("atan2", Product, Function("atan2")),
        ("@", Product, Matrix),
        ("&&", Logic, Function("and")),
        ("&", Logic, Function("and")),
        ("and", Logic, Function("and")),
        ("||", Logic, Function("or")),
        ("|", Logic, Function("or")),
        ("or", Logic, Function("or")),
        ("xor", Logic, Function("xor")),
        ("?", Logic, Choice),
        ("where", Logic, Condition),
        ("when", Logic, Condition),
        ("if", Logic, Condition),
    ]
};

/// The meaning of a foreign operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Meaning {
    /// A function of both operands.
    Function(&'static str),
    /// An operator with another spelling here.
    Own(&'static str),
    /// A product with a power of 2, or a quotient.
    Shift(&'static str),
    /// The quotient, rounded down.
    Floor,
    /// A product of matrices.
    Matrix,
    /// `c ? a : b`
    Choice,
    /// `a if c else b`, `a where c`
    Condition,
}

/// The foreign operators that are signs: they become tokens, so that their operands are known.
pub(super) fn sign(text: &str) -> Option<&'static str> {
    let signs =
        INFIX.iter().map(|(sign, ..)| *sign).filter(|s| !s.starts_with(char::is_alphabetic));
    signs.into_iter().find(|sign| text.starts_with(sign))
}

/// The foreign operator with this text.
pub(super) fn infix(text: &str) -> Option<(Strength, Meaning)> {
    INFIX
        .iter()
        .find(|(name, ..)| *name == text)
        .map(|(_, strength, meaning)| (*strength, *meaning))
}

/// The text to suggest instead of an operator between two operands.
pub(super) fn between(meaning: Meaning, left: &str, right: &str) -> String {
    match meaning {
        // -2 ** 2 is the negative of a power.
        Meaning::Function("pow") if left.starts_with('-') => {
            format!("write -pow({}, {right})", &left[1..])
        }
        Meaning::Function("pow") if right == "T" => TRANSPOSE.to_owned(),
        Meaning::Function(name) => format!("write {name}({}, {})", bare(left), bare(right)),
        Meaning::Own(sign) => format!("write {left} {sign} {right}"),
        Meaning::Shift(sign) => {
            let left = factor(left);
            match right.parse::<u32>().ok().and_then(|n| 1_u64.checked_shl(n)) {
                Some(power) => format!("write {left} {sign} {power}"),
                None => format!("write {left} {sign} pow(2, {right})"),
            }
        }
        Meaning::Floor => format!("write ({left} - mod({left}, {right})) / {right}"),
        Meaning::Matrix => "a product is written with indices: A(i,j) * B(j,k)".to_owned(),
        Meaning::Choice => format!("write {}", chosen(left, right, "0")),
        Meaning::Condition => format!("write {}", chosen(right, left, "0")),
    }
}

/// How a transpose is written.
pub(super) const TRANSPOSE: &str = "a transpose is written by its indices: A(j,i)";

/// Functions of Python that index notation lacks.
const PYTHONS: &str = "argmax argmin argsort sort unique std var median quantile percentile cumsum cumprod diff \
                       histogram bincount cov corrcoef";

/// Functions of matrices that are not loops over entries.
const SOLVERS: &str = "solve lstsq det lu qr svd eig eigh cholesky chol expm logm";

/// How a product of matrices or vectors is written.
const PRODUCT: &str = "a product is written with indices: y(i) = A(i,j) * x(j)";

/// One value where a condition holds, another elsewhere.
pub(super) fn chosen(condition: &str, then: &str, otherwise: &str) -> String {
    let term = |condition: String, value: &str| match value {
        "1" => condition,
        _ => format!("{condition} * {}", factor(value)),
    };
    let condition = bare(condition);
    let first = match is_truth(condition) {
        true => term(format!("({condition})"), then),
        false => term(format!("({condition} != 0)"), then),
    };
    let second = term(format!("not({condition})"), otherwise);
    match (then, otherwise) {
        (_, "0") => first,
        ("0", _) => second,
        _ => format!("{first} + {second}"),
    }
}

/// Whether a text is a comparison or a function of truth values; anything else is a number.
fn is_truth(text: &str) -> bool {
    let Ok(tokens) = lex(text) else { return false };
    let is_function = tokens.first().is_some_and(|token| {
        matches!(&text[token.span.clone()], "and" | "or" | "xor" | "not") && factor(text) == text
    });
    let mut depth = 0_usize;
    let compares = tokens.iter().any(|token| {
        match token.kind {
            Kind::Sign("(" | "[") => depth += 1,
            Kind::Sign(")" | "]") => depth = depth.saturating_sub(1),
            _ => {}
        }
        let comparison = matches!(token.kind, Kind::Sign("<" | "<=" | ">" | ">=" | "==" | "!="));
        depth == 0 && comparison
    });
    is_function || compares
}

/// A text without surrounding parentheses.
fn bare(text: &str) -> &str {
    let Some(inner) = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')) else {
        return text;
    };
    let mut depth = 0_i32;
    let goes_below = inner.chars().any(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth < 0
    });
    if goes_below { text } else { inner }
}

/// A text as a factor of a product, in parentheses unless it is a name, number or call.
fn factor(text: &str) -> String {
    let Ok(tokens) = lex(text) else { return format!("({text})") };
    let mut depth = 0_usize;
    for token in &tokens {
        match token.kind {
            Kind::Sign("(" | "[") => depth += 1,
            Kind::Sign(")" | "]") => depth = depth.saturating_sub(1),
            Kind::Sign(_) if depth == 0 => return format!("({text})"),
            _ => {}
        }
    }
    text.to_owned()
}

/// A call of an unknown function.
pub(super) struct Call<'t> {
    /// The name of the function.
    pub name: &'t str,
    /// The arguments.
    pub args: Vec<&'t str>,
    /// The unbound index variables of all arguments, or those named before the last argument.
    pub vars: String,
    /// The name and the indices of the only argument, if it is a tensor.
    pub indices: Option<(&'t str, Vec<&'t str>)>,
}

impl Call<'_> {
    /// Whether the only argument is a tensor of two modes or more.
    fn is_of_matrix(&self) -> bool {
        self.indices.as_ref().is_some_and(|(_, indices)| indices.len() > 1)
    }
}

/// The help for the inverse of a matrix.
fn inverse(matrix: &str) -> String {
    format!(
        "index notation has no inverse of a matrix, only those of its elements, 1 / {matrix}; in Python, \
         scipy.sparse.linalg.spsolve(A.to_scipy(), b) solves A x = b"
    )
}

/// The text to suggest instead of a call.
pub(super) fn call(call: &Call) -> Option<String> {
    let vars = &call.vars;
    let body = call.args.last()?;
    let written = match (call.name, &call.args[..]) {
        ("where" | "if" | "ifelse" | "iif" | "cond" | "select" | "choose", [c, a, b]) => {
            chosen(c, a, b)
        }
        ("mean" | "avg" | "average", _) => format!("sum({vars}, {body}) / sum({vars}, 1.0)"),
        ("count" | "nnz" | "count_nonzero", _) => format!("sum({vars}, {} != 0)", factor(body)),
        ("total" | "add" | "reduce" | "reduce_sum" | "\u{3a3}" | "Sum", _) => {
            format!("sum({vars}, {body})")
        }
        ("len" | "length" | "numel", _) => format!("sum({vars}, 1)"),
        ("hypot", [x, y]) => format!("sqrt(square({x}) + square({y}))"),
        ("isnan", [x]) => format!("{0} != {0}", factor(x)),
        ("product" | "reduce_prod" | "\u{3a0}", _) => format!("prod({vars}, {body})"),
        ("norm" | "norm2", _) => format!("sqrt(sum({vars}, square({body})))"),
        ("transpose" | "trans" | "t" | "T", [_]) => match &call.indices {
            Some((tensor, indices)) if indices.len() == 2 => {
                format!("{tensor}({},{})", indices[1], indices[0])
            }
            _ => return Some(TRANSPOSE.to_owned()),
        },
        ("trace" | "diag", [_]) => match &call.indices {
            Some((tensor, indices)) if indices.len() == 2 => {
                format!("{tensor}({0},{0})", indices[0])
            }
            _ => return Some("a diagonal is written by its indices: A(i,i)".to_owned()),
        },
        ("dot" | "matmul" | "mul" | "mm" | "inner" | "multiply", _) => {
            return Some(PRODUCT.to_owned());
        }
        ("relu", [x]) => format!("max({x}, 0)"),
        ("sigmoid" | "logistic", [x]) => format!("1 / (1 + exp(-{}))", factor(x)),
        ("sign" | "sgn" | "signum", [x]) => format!("2 * heaviside({x}, 0.5) - 1"),
        ("floor", [x]) => format!("{} - mod({x}, 1)", factor(x)),
        ("ceil" | "ceiling", [x]) => format!("{0} + mod(-{0}, 1)", factor(x)),
        ("ln", [x]) => format!("log({x})"),
        ("log2", [x]) => format!("log({x}) / log(2)"),
        ("log1p", [x]) => format!("log(1 + {x})"),
        ("exp2", [x]) => format!("pow(2, {x})"),
        ("expm1", [x]) => format!("exp({x}) - 1"),
        ("inv" | "inverse" | "pinv", [x]) if call.is_of_matrix() => return Some(inverse(x)),
        ("inv" | "inverse" | "recip" | "reciprocal", [x]) => format!("1 / {}", factor(x)),
        ("neg" | "negative", [x]) => format!("-{}", factor(x)),
        ("power", [x, y]) => format!("pow({x}, {y})"),
        ("minimum" | "fmin", [x, y]) => format!("min({x}, {y})"),
        ("maximum" | "fmax", [x, y]) => format!("max({x}, {y})"),
        ("clip" | "clamp", [x, least, most]) => format!("min(max({x}, {least}), {most})"),
        (name, [_]) if is_type(name) => return Some(TYPE.to_owned()),
        _ => return elsewhere(call),
    };
    Some(format!("write {written}"))
}

/// The help for functions that are not expressions of index notation.
fn elsewhere(call: &Call) -> Option<String> {
    let is_of = |words: &str| words.split_whitespace().any(|word| word == call.name);
    match call.args.last()?.contains('(') {
        true if is_of(PYTHONS) => {
            Some(format!("index notation has none; in Python, numpy.{} takes tensors", call.name))
        }
        true if is_of(SOLVERS) => {
            let python = "in Python, scipy.sparse.linalg takes A.to_scipy()";
            Some(format!("index notation has none; {python}"))
        }
        _ => None,
    }
}

/// The help for types.
pub(super) const TYPE: &str = "formats say the types of values: y=dense{f32}";

/// Whether a name is that of a type, in Tamis or another language.
pub(super) fn is_type(name: &str) -> bool {
    let elsewhere = ["float", "double", "int", "long", "complex", "float32", "float64", "int32"];
    DataType::parse(name).is_some() || elsewhere.contains(&name)
}

/// The text of the constant with this name, which a scalar without a value may mean.
pub fn constant(name: &str) -> Option<String> {
    let number = match name {
        "Inf" | "INF" | "infinity" | "Infinity" | "oo" => "inf",
        "nan" | "NaN" | "NAN" => "inf - inf",
        "dot" | "matmul" | "inner" => return Some(PRODUCT.to_owned()),
        "pi" | "PI" | "Pi" | "\u{3c0}" => "3.141592653589793",
        "true" | "True" | "TRUE" => "1",
        "false" | "False" | "FALSE" => "0",
        _ => return None,
    };
    Some(format!("write {number}"))
}

/// The text to suggest for a number with letters behind it: a number of another language, or a product.
pub(super) fn number(text: &str, number: &str) -> String {
    let letters = &text[number.len()..];
    let radix = [("0x", 16), ("0X", 16), ("0b", 2), ("0B", 2), ("0o", 8)].into_iter();
    let mut based = radix.filter_map(|(start, radix)| {
        u64::from_str_radix(&text.strip_prefix(start)?.replace('_', ""), radix).ok()
    });
    let plain = text.replace('_', "");
    let is_number = |text: &str| text.parse::<f64>().is_ok();
    const ENDS: [&str; 12] =
        ["L", "LL", "u", "U", "ul", "UL", "ull", "f32", "f64", "i32", "i64", "u64"];
    if let Some(value) = based.next() {
        return format!("write {value}");
    }
    if plain != text && is_number(&plain) {
        return format!("write {plain}");
    }
    match letters {
        "i" | "im" | "J" | "I" => {
            format!("write {number}j for an imaginary number, or {number} * {letters}")
        }
        "f" | "F" | "d" | "D" | "l" => format!("write {number}, or {number} * {letters}"),
        _ if ENDS.contains(&letters) => format!("write {number}"),
        _ if is_name(letters) => format!("write {number} * {letters}"),
        _ => "numbers are written 2, 0.5, .5, 1e-3 or 2j".to_owned(),
    }
}

/// The text to suggest for a name behind a point, as in `np.exp(x)` and `x.conj()`.
pub(super) fn behind_point(before: Option<&str>, name: &str) -> String {
    let last = name.rsplit('.').next().unwrap_or(name);
    match before {
        _ if builtin(last).is_some() => format!("write {last}(..)"),
        Some(owner) if is_name(owner) && name.len() > 1 => {
            constant(last).unwrap_or_else(|| format!("write {owner}_{}", name.replace('.', "_")))
        }
        _ => TRANSPOSE.to_owned(),
    }
}

/// An access with slices for indices that are coordinates or ranges: `A(0,1:,i)` is `A(k[{0}],l[1:],i)`.
pub(super) fn in_slices<'a>(
    source: &str,
    name: &str,
    indices: impl Iterator<Item = &'a str>,
) -> String {
    let mut used = source.to_owned();
    let indices = indices.map(|index| {
        let index = index.trim();
        let slice = match index {
            ":" => String::new(),
            _ if index.contains(':') && !index.contains('[') => format!("[{index}]"),
            _ if index.parse::<u64>().is_ok() => format!("[{{{index}}}]"),
            _ => return index.to_owned(),
        };
        let var = fresh(&used);
        used += &format!(" {var}");
        var + &slice
    });
    format!("{name}({})", indices.collect::<Vec<_>>().join(","))
}

/// An index variable that does not occur in a text.
pub(super) fn fresh(source: &str) -> String {
    let is_used = |name: &str| {
        let mut words = source.split(|c: char| c != '_' && !c.is_alphanumeric());
        words.any(|word| word == name)
    };
    let letters = ["k", "l", "m", "n", "p", "q", "r", "s", "t", "u", "v", "w"].map(str::to_owned);
    let numbered = (2..).map(|n| format!("k{n}"));
    letters.into_iter().chain(numbered).find(|name| !is_used(name)).unwrap_or_default()
}

/// A text with one name replaced by another.
pub(super) fn renamed(text: &str, name: &str, to: &str) -> String {
    let Ok(tokens) = lex(text) else { return text.to_owned() };
    let mut changed = String::new();
    let mut copied = 0;
    for token in tokens.iter().filter(|t| t.kind == Kind::Name && &text[t.span.clone()] == name) {
        changed.push_str(&text[copied..token.span.start]);
        changed.push_str(to);
        copied = token.span.end;
    }
    changed.push_str(&text[copied..]);
    changed
}

#[cfg(test)]
mod tests {
    use crate::notation::parse;

    /// Checks that wrong text is refused with a suggestion that can be parsed.
    fn check(wrong: &str, place: &str, right: &str) {
        let told = parse(wrong).expect_err(wrong);
        assert_eq!(told.help, Some(format!("write {right}")), "{wrong}");
        let mended = wrong.replace(place, right);
        assert!(parse(&mended).is_ok(), "{mended}");
    }

    #[test]
    fn operators_of_other_languages_are_functions() {
        for (wrong, right) in [
            ("x(i)**2", "pow(x(i), 2)"),
            ("x(i)^2", "pow(x(i), 2)"),
            ("-2^x(i)", "-pow(2, x(i))"),
            ("x(i) % (y(i) + 1)", "mod(x(i), y(i) + 1)"),
            ("x(i) mod 2", "mod(x(i), 2)"),
            ("x(i) // 2", "(x(i) - mod(x(i), 2)) / 2"),
            ("x(i) min y(i)", "min(x(i), y(i))"),
            ("x(i) > 1 and x(i) < 2", "and(x(i) > 1, x(i) < 2)"),
            ("(x(i) > 1) || (x(i) < 0)", "or(x(i) > 1, x(i) < 0)"),
            ("x(i) > 0 ? x(i) : 0", "(x(i) > 0) * x(i)"),
            ("x(i) where x(i) > 0", "(x(i) > 0) * x(i)"),
            ("1 if x(i) > 0 else y(i) + 2", "(x(i) > 0) + not(x(i) > 0) * (y(i) + 2)"),
            ("x(i) ? 2 : y(i)", "(x(i) != 0) * 2 + not(x(i)) * y(i)"),
            ("x(i) ? 2 : (y(i) + 1)", "(x(i) != 0) * 2 + not(x(i)) * (y(i) + 1)"),
            ("x(i) if y(i) else 2", "(y(i) != 0) * x(i) + not(y(i)) * 2"),
            ("x(i) where and(y(i), 1)", "(and(y(i), 1)) * x(i)"),
            ("x(i) << 3", "x(i) * 8"),
            ("x(i) >> y(i)", "x(i) / pow(2, y(i))"),
            ("x(i) + 1 << 3", "(x(i) + 1) * 8"),
            ("x(i) .* y(i)", "x(i) * y(i)"),
            ("x(i) .^ 2", "pow(x(i), 2)"),
            ("x(i) \u{b7} y(i)", "x(i) * y(i)"),
            ("x(i) \u{2212} y(i)", "x(i) - y(i)"),
            ("x(i) <> y(i)", "x(i) != y(i)"),
            ("x(i) ~= y(i) + 1", "x(i) != y(i) + 1"),
            ("x(i) === y(i)", "x(i) == y(i)"),
            ("x(i) \u{2264} y(i)", "x(i) <= y(i)"),
            ("|x(i) - 1|", "abs(x(i) - 1)"),
            ("sum(j) A(i,j)", "sum(j, A(i,j))"),
            ("sum_j A(i,j)", "sum(j, A(i,j))"),
            ("0x1F", "31"),
            ("0b101", "5"),
            ("1_000.5", "1000.5"),
            ("2.5f32", "2.5"),
            ("not x(i)", "not(x(i))"),
            ("2 x(i)", "2 * x(i)"),
        ] {
            check(&format!("z(i) = {wrong}"), wrong, right);
        }
        check("z(i) = 3 * x(i)^2 + 1", "x(i)^2", "pow(x(i), 2)");
        check("z(i) = exp(x(i) > 0 & y(i))", "x(i) > 0 & y(i)", "and(x(i) > 0, y(i))");
    }

    #[test]
    fn functions_of_other_languages_are_expressions() {
        for (wrong, right) in [
            ("where(x(i) > 0, x(i), 0)", "(x(i) > 0) * x(i)"),
            ("where(x(i), y(i), 0)", "(x(i) != 0) * y(i)"),
            ("if(x(i) > 0, -1, x(i))", "(x(i) > 0) * (-1) + not(x(i) > 0) * x(i)"),
            ("mean(j, A(i,j))", "sum(j, A(i,j)) / sum(j, 1.0)"),
            ("mean(A(i,j))", "sum(j, A(i,j)) / sum(j, 1.0)"),
            ("norm(A(i,j))", "sqrt(sum(j, square(A(i,j))))"),
            ("count(j, A(i,j))", "sum(j, A(i,j) != 0)"),
            ("relu(x(i))", "max(x(i), 0)"),
            ("floor(x(i) + 1)", "(x(i) + 1) - mod(x(i) + 1, 1)"),
            ("sum(A(i,j), j)", "sum(j, A(i,j))"),
            ("\u{3a3}(j, A(i,j))", "sum(j, A(i,j))"),
            ("hypot(x(i), y(i))", "sqrt(square(x(i)) + square(y(i)))"),
            ("inv(x(i) + 1)", "1 / (x(i) + 1)"),
            ("reciprocal(A(i,j))", "1 / A(i,j)"),
        ] {
            check(&format!("z(i) = {wrong}"), wrong, right);
        }
        check("C(i,j) = transpose(A(i,j))", "transpose(A(i,j))", "A(j,i)");
    }

    /// If there is no text to suggest, the help names the meaning.
    #[test]
    fn spellings_of_other_languages_are_explained() {
        for (wrong, help) in [
            ("z(i) = np.exp(x(i))", "write exp(..)"),
            ("z(i) = x(i).conj()", "write conj(..)"),
            ("C(i,j) = A(j,i).T", "a transpose is written by its indices"),
            ("C(i,j) = A.T(i,j)", "a transpose is written by its indices"),
            ("z(i) = my.xs(i)", "write my_xs"),
            ("z(i) = my.own.xs(i)", "write my_own_xs"),
            ("z(i) = torch.special.exp(x(i))", "write exp(..)"),
            ("z(i) = x(i) * np.pi", "write 3.14"),
            ("z(i) = |x(i) - |y(i)||", "write abs(..)"),
            ("z(i) = sum(A(i,j), axis=1)", "an argument has no name"),
            ("z(i) = float(x(i))", "formats say the types"),
            ("z(i) = (float) x(i)", "formats say the types"),
            ("z(i) = if x(i) then 1 else 0", "(x(i) > 0) * x(i)"),
            ("z(i) = 2f * x(i)", "write 2, or 2 * f"),
            ("z(i) = 2i", "write 2j for an imaginary number, or 2 * i"),
            ("z(i) = x(i)\u{b2}", "write square(x)"),
            ("z(i) = \u{221a}x(i)", "write sqrt(x)"),
            ("z(i) = A(i)(j)", "A(i,j)"),
            (
                "C(i,j) = inv(A(i,j))",
                "no inverse of a matrix, only those of its elements, 1 / A(i,j)",
            ),
            ("x(i) = solve(A(i,j), b(j))", "scipy.sparse.linalg takes"),
            ("y(i) = median(j, A(i,j))", "numpy.median takes tensors"),
            ("C(i,j) = cumsum(A(i,j))", "numpy.cumsum takes tensors"),
            ("ij,j->i", "one statement computes one tensor"),
            ("y(i), z(i) = x(i), x(i)", "one statement computes one tensor"),
            ("for i: z(i) = x(i)", "a statement is written"),
            ("z(i) = \\sum_j A(i,j)", "sum(j, A(i,j))"),
        ] {
            let told = parse(wrong).expect_err(wrong);
            assert!(told.help.as_deref().unwrap_or("").contains(help), "{wrong}: {told}");
        }
    }

    #[test]
    fn indices_that_are_no_variables_are_slices_or_comparisons() {
        check("C(i,j) = A(i,j+1)", "A(i,j+1)", "A(i,j[1:])");
        check("y(i) = A(i,2*j)", "A(i,2*j)", "A(i,j[::2])");
        check("y(i) = A(i,3)", "A(i,3)", "A(i,k[{3}])");
        check("y(i) = A(i,:)", "A(i,:)", "A(i,k)");
        check("C(i,j) = A(i,j-1)", "A(i,j-1)", "sum(k, A(i,k) * (k == j-1))");
        // A slice would also count fewer coordinates than the mode that the variable counts.
        check("b(i) = A(2*i,i)", "A(2*i,i)", "sum(k, A(k,i) * (k == 2*i))");
        check("s = A(i,i+1)", "A(i,i+1)", "sum(k, A(i,k) * (k == i+1))");
        check("C(i,j) = A(i,j+1) - A(i,j)", "A(i,j+1)", "sum(k, A(i,k) * (k == j+1))");
        check("b(i) = x(2*i) * y(i)", "x(2*i)", "sum(k, x(k) * (k == 2*i))");
        check("y(i) = x(i); z(i) = x(2*i)", "x(2*i)", "x(i[::2])");
        check("y(i) = x(i); z(k+1) = x(k)", "z(k+1)", "z(k[1:])");
        check("y(k+1) = x(k)", "y(k+1)", "y(k[1:])");
        check("y(i,3) = x(i)", "y(i,3)", "y(i,k[{3}])");
    }
}
