//! Arguments and variables arrive as they were meant, or nothing is started.

use std::path::Path;

use agentos_winbox::{WinboxError, command_line, environment_block};

fn line(args: &[&str]) -> String {
    let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
    command_line(Path::new(r"C:\Program Files\tool.exe"), &args).unwrap()
}

#[test]
fn every_argument_is_one_word() {
    let program = r#""C:\Program Files\tool.exe""#;
    for (arg, word) in [
        ("plain", "plain"),
        ("", r#""""#),
        ("two words", r#""two words""#),
        (r"C:\folder\", r"C:\folder\"),
        (r"C:\a folder\", r#""C:\a folder\\""#),
        (r#"say "hi""#, r#""say \"hi\"""#),
        ("a\tb", "\"a\tb\""),
        (r#"a\\"b"#, r#""a\\\\\"b""#),
        (r"a\\b", r"a\\b"),
        ("& del *", r#""& del *""#),
    ] {
        assert_eq!(line(&[arg]), format!("{program} {word}"), "{arg}");
    }
    assert_eq!(line(&[]), program);
    assert_eq!(line(&["a", "b"]), format!("{program} a b"));
}

#[test]
fn what_windows_would_cut_or_execute_is_refused() {
    let none: [String; 0] = [];
    for name in ["a\0b", "a\"b"] {
        assert!(command_line(Path::new(name), &none).is_err());
    }
    assert!(command_line(Path::new("a"), &["x\0y".to_owned()]).is_err());
    for name in ["npm.cmd", "npm.CMD", "a.bat", "a.bat.", "a.bat . "] {
        let refused = command_line(Path::new(name), &none);
        assert!(matches!(refused, Err(WinboxError::BatchFile(_))), "{name}");
    }
    assert!(command_line(Path::new("a.bat.exe"), &none).is_ok());
}

#[test]
fn an_environment_is_sorted_and_ends_with_two_nuls() {
    let env = |pairs: &[(&str, &str)]| {
        let pairs: Vec<_> = pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        environment_block(&pairs)
    };
    assert_eq!(env(&[("b", "2"), ("A", "1=1")]).unwrap(), "A=1=1\0b=2\0\0");
    assert_eq!(env(&[]).unwrap(), "\0\0");
    for wrong in [("", "x"), ("a=b", "x"), ("a\0b", "x"), ("a", "x\0y=z")] {
        assert!(env(&[wrong]).is_err(), "{wrong:?}");
    }
}
