//! Concrete index notation and plans: every program is valid, and its text says all that steers lowering; every
//! plan is valid and reads back from its text.

use std::path::Path;
use tamis::Backend;
use tamis::unstable::pipeline;
use tamis_core::cin::{Program, text, verify};
use tamis_core::lower::Lowered;
use tamis_core::plan;
use tamis_testing::case::Case;
use tamis_testing::functions::Functions;
use tamis_testing::random::Random;
use tamis_testing::{filetest, generate, schedules};

/// The gallery, and random programs, some with loops on a GPU.
fn programs() -> Vec<(Case, Functions)> {
    let gallery = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/gallery");
    let mut files: Vec<_> =
        std::fs::read_dir(gallery).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    let read = |file| filetest::cases(&std::fs::read_to_string(file).unwrap()).unwrap_or_default();
    let mut cases: Vec<Case> = files.into_iter().flat_map(read).collect();
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let mut case = generate::case(&mut random);
        if random.one_in(3) {
            case.schedule = schedules::on_gpu(&mut random, &case, &case.schedule);
        }
        cases.push(case);
    }
    let compiled = |case: Case| Some((case.clone(), Functions::of(&case).ok()?));
    cases.into_iter().filter_map(compiled).collect()
}

#[test]
fn programs_read_back_and_lower_to_the_same_code() {
    let programs = programs();
    assert!(programs.len() > 100);
    for (case, functions) in programs {
        let program = functions.program();
        verify::verify(program).unwrap_or_else(|why| panic!("{why}\n{case}"));
        let printed = text::print(program);
        let read = text::parse(&printed).unwrap_or_else(|d| panic!("{d}\n{printed}{case}"));
        assert_eq!(text::print(&read), printed, "{case}");
        assert!(code(&read) == code(program), "other code:\n{printed}{case}");
    }
}

#[test]
fn plans_read_back() {
    for (case, functions) in programs() {
        let program = functions.program();
        for kernel in &program.kernels {
            let plan = plan::plan(program, kernel);
            let text = plan::print(program, kernel, &plan);
            plan::verify::verify(program, kernel, &plan)
                .unwrap_or_else(|why| panic!("{why}\n{text}{case}"));
            let read =
                plan::parse(program, kernel, &text).unwrap_or_else(|d| panic!("{d}\n{text}{case}"));
            assert_eq!(plan::print(program, kernel, &read), text, "{case}");
            // Constants that are not numbers differ from themselves.
            assert!(read == plan || text.contains("nan"), "another plan:\n{text}{case}");
            // Without a line, a text is refused or says another plan; nothing panics.
            let lines: Vec<&str> = text.lines().collect();
            for at in 0..lines.len().min(12) {
                let less = [&lines[..at], &lines[at + 1..]].concat().join("\n");
                if let Ok(read) = plan::parse(program, kernel, &less) {
                    let _ = plan::verify::verify(program, kernel, &read);
                }
            }
        }
    }
}

/// Words of plans are names of tensors, too.
#[test]
fn plans_of_tensors_with_names_of_words_read_back() {
    let text = "# words\nonly: csr\nneither: csr\nwhere: csr\ntemporary: csr\n\
                temporary(i,j) = only(i,j) + neither(j,i); else(i) = max(j, where(i,j)) + level(i); nothing = level(i)\n\
                ---- run\nonly 2x2 =\nneither 2x2 =\nwhere 2x2 =\nlevel 2 =\ntemporary 2x2 =\nelse 2 =\nnothing =\n";
    let case = filetest::cases(text).expect("the case is read").remove(0);
    let functions = Functions::of(&case).expect("the program compiles");
    let program = functions.program();
    assert!(program.kernels.len() > 2);
    for kernel in &program.kernels {
        let plan = plan::plan(program, kernel);
        let text = plan::print(program, kernel, &plan);
        let read = plan::parse(program, kernel, &text).unwrap_or_else(|d| panic!("{d}\n{text}"));
        assert!(read == plan, "another plan:\n{text}");
    }
}

#[test]
fn wrong_plans_are_refused() {
    let case = filetest::cases(
        "# a product\nA: csr\ny(i) = A(i,j) * x(j)\n---- run\nA 2x2 =\nx 2 =\ny 2 =\n",
    );
    let case = case.expect("the case is read").remove(0);
    let functions = Functions::of(&case).expect("the program compiles");
    let (program, kernel) = (functions.program(), &functions.program().kernels[0]);
    let text = plan::print(program, kernel, &plan::plan(program, kernel));
    let told = |from: &str, to: &str| {
        assert!(text.contains(from), "{from} is not in\n{text}");
        let read = plan::parse(program, kernel, &text.replace(from, to));
        match read {
            Err(refusal) => refusal.to_string(),
            Ok(read) => plan::verify::verify(program, kernel, &read).expect_err("a wrong plan"),
        }
    };
    assert!(told("level 2", "level 3").contains("the operand has 2 levels"));
    assert!(told("walk A", "walk B").contains("no tensor B is declared"));
    assert!(told("in place", "in space").contains("assembled: is expected here"));
    assert!(told("level 2 (compressed)", "level 1 (dense)").contains("does not come to level 1"));
    assert!(told("(compressed)", "(dense)").contains("this line would be: for j: walk A(i,j)"));
    assert!(told("    s +=", "      s +=").contains("not indented"));
    assert!(told("for j: walk", "for i: walk").contains("i has a value outside of its loop"));
}

/// The functions of a program for the machine.
fn code(program: &Program) -> String {
    let functions = pipeline::functions(program, Backend::Jit.target());
    let code = |l: &Lowered| format!("{:?}{}", l.bindings, l.function);
    // Formats do not tell the sign of a fill value that is not a number.
    functions.iter().map(code).collect::<String>().replace("nan(18444492273895866368)", "nan")
}
