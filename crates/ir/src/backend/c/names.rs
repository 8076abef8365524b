//! Names without another meaning in C.
//!
//! A name that C, a header or the text itself may define gets a `_` at its end, where none of theirs has one: `int`
//! becomes `int_`, `tamis_k` becomes `tamis_k_`, while `A2_pos`, `pA2` and `i` stay. Headers that define open-ended
//! sets of names are not included; the text declares library functions itself (see [`super::prelude`]).

use super::prelude;
use crate::backend::in_letters;
use crate::ids::{Array, Id, Var};
use crate::ir::Function;
use std::collections::BTreeSet;

/// Keywords of C up to C23 and of GNU C, lower-case names that the three included headers define, and predefined
/// macros of GNU compilers.
const WORDS: &str = "alignas alignof asm auto bool break case char const constexpr continue default \
do double else enum extern false float for goto if inline int long nullptr register restrict return \
short signed sizeof static static_assert struct switch thread_local true typedef typeof typeof_unqual \
union unsigned void volatile while main offsetof unreachable linux unix i386 mips sparc sun sgi hpux \
hppa vax m68k mc68000 pdp11 powerpc I";

/// Further names of C++ and CUDA.
const DEVICE: &str = "and and_eq bitand bitor catch char16_t char32_t class compl concept const_cast \
consteval constinit decltype delete dynamic_cast explicit export friend mutable namespace new noexcept \
not not_eq operator or or_eq private protected public reinterpret_cast requires static_cast template \
this throw try typeid typename using virtual wchar_t xor xor_eq threadIdx blockIdx blockDim gridDim \
warpSize fma fmaf fmod fmodf nan nanf atomicAdd atomicMax atomicCAS clock";

/// Functions of one or more numbers in `math.h`, each also with `f` and `l` at its end.
const MATH: &str = "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 \
expm1 fabs fdim floor fma fmax fmin fmod frexp hypot ilogb ldexp lgamma llrint llround log log10 log1p \
log2 logb lrint lround modf nan nearbyint nextafter nexttoward pow remainder remquo rint round scalbln \
scalbn sin sinh sqrt tan tanh tgamma trunc";

/// Other lower-case functions, variables and macros of the C library, and common ones of POSIX.
const LIBRARY: &str = "abort abs accept access alarm asctime assert at_quick_exit atexit atof atoi atol \
atoll bind bsearch btowc bzero calloc chdir chmod chown clearerr clock close connect creat ctime daylight \
difftime div dup dup2 environ errno exec execl execle execlp execv execve execvp exit fclose fcntl fdopen \
feof ferror fflush fgetc fgetpos fgets fgetwc fgetws fileno fopen fork fpclassify fprintf fputc fputs fputwc \
fputws fread free freopen fscanf fseek fsetpos fstat fsync ftell ftruncate fwide fwprintf fwrite fwscanf \
getc getchar getcwd getenv getpid getline getopt gets getuid getwc getwchar gmtime index ioctl isalnum \
isalpha isascii isatty isblank iscntrl isdigit isfinite isgraph isgreater isinf isless islower isnan \
isnormal isprint ispunct isspace isunordered isupper isxdigit j0 j1 jn kill labs ldiv link listen llabs \
lldiv localeconv localtime longjmp lseek mblen mbrlen mbrtowc mbsinit mbsrtowcs mbstowcs mbtowc memccpy \
memchr memcmp memcpy memmove memset mkdir mktime mmap munmap nanosleep nice open opterr optind pause perror \
pipe poll popen printf putc putchar putenv puts putwc putwchar qsort quick_exit raise rand random read \
realloc recv remove rename rewind rindex rmdir scanf select send setbuf setenv setjmp setlocale setvbuf \
shutdown sigaction signal signbit signgam sleep snprintf socket sprintf srand srandom sscanf stat stderr \
stdin stdout strcat strchr strcmp strcoll strcpy strcspn strdup strerror strftime strlcat strlcpy strlen strncat strncmp \
strncpy strpbrk strrchr strspn strstr strtod strtof strtok strtol strtold strtoll strtoul strtoull strxfrm \
swab swprintf swscanf sync system time times timezone tmpfile tmpnam tolower toupper towlower towupper \
truncate tzname tzset ungetc ungetwc unlink usleep utime vfprintf vprintf vscanf vsnprintf vsprintf vsscanf \
wait waitpid wcrtomb wcscat wcschr wcscmp wcscoll wcscpy wcscspn wcslen wcsncat wcsncmp wcsncpy wcsstr \
wcstod wcstof wcstok wcstol wcstombs wcstoul wctob wctomb wmemchr wmemcmp wmemcpy wmemmove wmemset wprintf \
write wscanf y0 y1 yn";

/// Whether the C library defines a name, so that a program linked with it must not.
pub(in crate::backend) fn is_of_library(name: &str) -> bool {
    let is_of = |words: &str, name: &str| words.split_whitespace().any(|word| word == name);
    let of_type = name.strip_suffix(['f', 'l']);
    is_of(LIBRARY, name) || is_of(MATH, name) || of_type.is_some_and(|name| is_of(MATH, name))
}

/// A name as a C identifier that nothing else defines.
pub(in crate::backend) fn escape(name: &str) -> String {
    let mut out = in_letters(name);
    if is_owned(&out) {
        out.push('_');
    }
    out
}

/// Whether a name is a word of C, looks like one of a header (`INT64_MAX`, `size_t`), or is used by the text itself.
fn is_owned(name: &str) -> bool {
    let is_macro = name.len() > 1 && !name.contains(|c: char| c.is_ascii_lowercase());
    is_macro
        || name.ends_with("_t")
        || name.starts_with("tamis_")
        || [WORDS, DEVICE].iter().any(|words| words.split_whitespace().any(|word| word == name))
        || prelude::defines(name)
}

/// Names that are in use.
struct Taken(BTreeSet<String>);

impl Taken {
    /// A name like this one that is not in use, and neither are those derived from it.
    fn fresh(&mut self, name: &str, derived: &[&str]) -> String {
        let mut candidate = name.to_owned();
        let with = |name: &str, end: &&str| format!("{name}{end}");
        while self.0.contains(&candidate)
            || derived.iter().any(|end| self.0.contains(&with(&candidate, end)))
        {
            candidate.push('_');
        }
        self.0.extend(derived.iter().map(|end| with(&candidate, end)));
        self.0.insert(candidate.clone());
        candidate
    }
}

/// The names of the functions of a file. No library defines a `compute_..`; others get a `_`.
pub(in crate::backend) fn functions(functions: &[&Function]) -> Vec<String> {
    let mut taken = Taken(BTreeSet::from(["slots".to_owned()]));
    let mut named = vec![];
    for function in functions {
        let mut name = escape(&function.name);
        if !name.starts_with("compute_") && !name.ends_with('_') {
            name.push('_');
        }
        named.push(taken.fresh(&name, &["_entry"]));
    }
    named
}

/// The names within a function.
pub(in crate::backend) struct Locals {
    vars: Vec<Variable>,
    arrays: Vec<ArrayNames>,
}

/// The name of a variable, and of variables that hold the bounds of its loops.
pub(in crate::backend) struct Variable {
    pub(in crate::backend) name: String,
    pub(in crate::backend) lo: String,
    /// The value before a loop whose iterations combine it.
    pub(in crate::backend) before: String,
    pub(in crate::backend) hi: String,
    /// The label at the end of an iteration on a thread.
    pub(in crate::backend) end: String,
}

/// The name of an array, and of the variables that accompany an allocated one.
pub(in crate::backend) struct ArrayNames {
    pub(in crate::backend) name: String,
    pub(in crate::backend) len: String,
    pub(in crate::backend) out: String,
    pub(in crate::backend) out_len: String,
    pub(in crate::backend) grown: String,
}

impl Locals {
    /// Names for all variables and arrays: given ones first, then derived ones.
    pub(in crate::backend) fn of(function: &Function) -> Locals {
        let mut taken = Taken(BTreeSet::from(["status".to_owned()]));
        let mut given = |name: &String| taken.fresh(&escape(name), &[]);
        let arrays: Vec<String> = function.arrays.iter().map(|a| given(&a.name)).collect();
        let vars: Vec<String> = function.vars.iter().map(|v| given(&v.name)).collect();
        let mut derived = |name: &str, end: &str| taken.fresh(&format!("{name}{end}"), &[]);
        let arrays = arrays.into_iter().map(|name| ArrayNames {
            len: derived(&name, "_len"),
            out: derived(&name, "_out"),
            out_len: derived(&name, "_out_len"),
            grown: derived(&name, "_grown"),
            name,
        });
        let arrays = arrays.collect();
        let vars = vars.into_iter().map(|name| Variable {
            lo: derived(&name, "_lo"),
            before: derived(&name, "_before"),
            hi: derived(&name, "_hi"),
            end: derived(&name, "_end"),
            name,
        });
        Locals { vars: vars.collect(), arrays }
    }

    pub(in crate::backend) fn var(&self, var: Var) -> &Variable {
        &self.vars[var.index()]
    }

    pub(in crate::backend) fn array(&self, array: Array) -> &ArrayNames {
        &self.arrays[array.index()]
    }
}
