//! Every level format of the core keeps its promises.

use tamis::level::registered;
use tamis_testing::conformance::conformance;

fn holds(name: &str) {
    let kind = registered().into_iter().find(|kind| kind.name() == name);
    let report = conformance(kind.expect("a level format of the core").format());
    let report = report.unwrap_or_else(|problem| panic!("{name}: {problem}"));
    assert!(report.formats > 0 && report.tensors > 5, "{name}: {report:?}");
}

macro_rules! each {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            holds(stringify!($name));
        })*

        #[test]
        fn none_is_left_out() {
            let all: Vec<&str> = registered().iter().map(|kind| kind.name()).collect();
            assert_eq!(all, [$(stringify!($name)),*]);
        }
    };
}

each!(dense range compressed singleton offset hashed bitmap);
