//! Programs as libraries compute what kernels do.

use tamis::temporary::Temporary;
use tamis_testing::libraries::{drawn, has_c_compilers, wrong_in_c, wrong_in_rust};
use tamis_testing::random::Random;

#[test]
fn random_programs_are_right_as_libraries_in_c_and_rust() {
    let folder = Temporary::folder(&std::env::temp_dir()).expect("there is room for a folder");
    let samples = drawn(&mut Random::new(41), 40);
    if has_c_compilers() {
        assert_eq!(wrong_in_c(&samples, folder.path()), Vec::<String>::new());
    }
    assert_eq!(wrong_in_rust(&samples, folder.path()), Vec::<String>::new());
}
