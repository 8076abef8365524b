//! What `--json` prints is JSON, and has what scripts need.

use std::iter::Peekable;
use std::process::{Command, Stdio};
use std::str::Chars;

/// A value of JSON.
#[derive(PartialEq, Debug)]
enum Json {
    Text(String),
    Number(f64),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    fn parse(text: &str) -> Option<Json> {
        let mut rest = text.trim().chars().peekable();
        let value = Json::value(&mut rest)?;
        rest.next().is_none().then_some(value)
    }

    fn value(rest: &mut Peekable<Chars<'_>>) -> Option<Json> {
        match rest.peek()? {
            '"' => Json::text(rest).map(Json::Text),
            '[' => Json::items(rest, ']', Json::value).map(Json::List),
            '{' => {
                let field = |rest: &mut Peekable<Chars<'_>>| {
                    let name = Json::text(rest)?;
                    (rest.next()? == ':').then_some(())?;
                    blanks(rest);
                    Some((name, Json::value(rest)?))
                };
                Json::items(rest, '}', field).map(Json::Object)
            }
            _ => {
                let of_number = |c: &char| c.is_ascii_digit() || "+-.eE".contains(*c);
                let mut digits = String::new();
                while let Some(c) = rest.next_if(of_number) {
                    digits.push(c);
                }
                digits.parse().ok().map(Json::Number)
            }
        }
    }

    fn items<T>(
        rest: &mut Peekable<Chars<'_>>,
        end: char,
        item: impl Fn(&mut Peekable<Chars<'_>>) -> Option<T>,
    ) -> Option<Vec<T>> {
        let mut items = vec![];
        rest.next()?;
        if rest.next_if_eq(&end).is_some() {
            return Some(items);
        }
        loop {
            blanks(rest);
            items.push(item(rest)?);
            match rest.next()? {
                ',' => {}
                c => return (c == end).then_some(items),
            }
        }
    }

    fn text(rest: &mut Peekable<Chars<'_>>) -> Option<String> {
        let mut text = String::new();
        (rest.next()? == '"').then_some(())?;
        loop {
            text.push(match rest.next()? {
                '"' => return Some(text),
                '\\' => match rest.next()? {
                    'u' => {
                        let code: String = rest.by_ref().take(4).collect();
                        char::from_u32(u32::from_str_radix(&code, 16).ok()?)?
                    }
                    c => "\"\\/".contains(c).then_some(c)?,
                },
                c => (c >= ' ').then_some(c)?,
            });
        }
    }

    fn get(&self, name: &str) -> &Json {
        let Json::Object(fields) = self else { panic!("no object: {self:?}") };
        let field = fields.iter().find(|(known, _)| known == name);
        &field.unwrap_or_else(|| panic!("no {name}: {self:?}")).1
    }
}

fn blanks(rest: &mut Peekable<Chars<'_>>) {
    while rest.next_if_eq(&' ').is_some() {}
}

fn printed(args: &[&str]) -> Json {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tamis"));
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let output = command.args(args).current_dir(root).stdin(Stdio::null()).output();
    let text = String::from_utf8(output.expect("it runs").stdout).expect("text");
    Json::parse(&text).unwrap_or_else(|| panic!("no JSON: {text}"))
}

#[test]
fn json_has_what_scripts_need() {
    let spmv = ["run", "y(i) = A(i,j) * x(j)", "-i", "A=data/bar.mtx.gz", "-g", "x=dense"];
    let json = printed(&[&spmv[..], &["--json", "--time", "2", "-s", "reorder(i,\tj)"]].concat());
    assert_eq!(*json.get("dims"), Json::List(vec![Json::Number(600.0)]));
    assert_eq!(*json.get("nnz"), Json::Number(600.0));
    let Json::List(seconds) = json.get("seconds") else { panic!("{json:?}") };
    assert!(matches!(seconds[..], [Json::Number(_), Json::Number(_)]), "{json:?}");
    let text = |text: &str| Json::Text(text.to_owned());
    assert_eq!(*json.get("ran_on"), Json::List(vec![text("jit"), text("jit")]));
    assert!(matches!(json.get("compile_ms"), Json::Number(_)));
    assert_eq!(*json.get("backend"), text("auto"));
    assert!(matches!(json.get("threads"), Json::Number(_)));
    assert_eq!(*json.get("schedule"), text("reorder(i, j)"));
    assert_eq!(*json.get("warnings"), Json::List(vec![]));
}

#[test]
fn warnings_are_objects() {
    let quotients = ["run", "y(i) = A(i,j) / d(j)", "-f", "A=csr", "-g", "A=5000x5000:0.000001"];
    let json = printed(&[&quotients[..], &["-g", "d=dense", "--strict", "--json"]].concat());
    let Json::List(warnings) = json.get("warnings") else { panic!("{json:?}") };
    let [warning] = &warnings[..] else { panic!("{json:?}") };
    assert_eq!(*warning.get("code"), Json::Text("many-steps".to_owned()));
    for name in ["message", "help"] {
        assert!(matches!(warning.get(name), Json::Text(text) if !text.is_empty()), "{json:?}");
    }
}
