//! Imports of a text: the other files that it names in its own language.
//!
//! Owns: which statements import something, and how they write a path. Never: knows which files there are.

/// Most imports of one text. A file with more lists other files for a living, and says little about each.
const MOST_IMPORTS: usize = 100;
/// Most lines of one import statement.
const MOST_LINES: usize = 40;

/// Languages that import files in one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ImportStyle {
    C,
    Go,
    Java,
    Python,
    Rust,
    Script,
}

/// Place from which the path of an import begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ImportStart {
    /// The folder of the file, and so many folders above it.
    Above(usize),
    /// The modules below the file, as `mod` of Rust names them, and so many modules above it.
    Inside(usize),
    /// The root of the crate, the package or the sources.
    Root,
    /// Any folder around the file.
    Anywhere,
}

/// Import: a path without the endings of files.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ImportPath {
    pub(crate) start: ImportStart,
    pub(crate) parts: Vec<String>,
}

impl ImportStyle {
    /// Returns the style of a file. `None` for languages whose imports are not read.
    pub(crate) fn of_path(path: &str) -> Option<Self> {
        let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
        let style = match ending {
            "c" | "h" | "cc" | "cpp" | "cxx" | "hh" | "hpp" | "hxx" | "m" | "mm" | "cu" => Self::C,
            "go" => Self::Go,
            "java" | "kt" | "kts" | "scala" | "groovy" => Self::Java,
            "py" | "pyi" | "pyx" => Self::Python,
            "rs" => Self::Rust,
            "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts" | "vue" | "svelte" => Self::Script,
            _ => return None,
        };
        Some(style)
    }

    /// Returns the endings of the files that such a language imports, the likeliest first.
    pub(crate) fn list_endings(self) -> &'static [&'static str] {
        match self {
            Self::C => &["h", "hpp", "hh", "hxx", "c", "cc", "cpp", "cxx", "m", "mm", "cu"],
            Self::Go => &["go"],
            Self::Java => &["java", "kt", "scala", "groovy"],
            Self::Python => &["py", "pyx", "pyi"],
            Self::Rust => &["rs"],
            Self::Script => &[
                "ts", "tsx", "js", "jsx", "mjs", "cjs", "mts", "cts", "vue", "svelte",
            ],
        }
    }
}

/// Lists the imports of a text in their order. Files of other languages have none.
pub(crate) fn list_imports(path: &str, text: &str) -> Vec<ImportPath> {
    let mut found = Vec::new();
    match ImportStyle::of_path(path) {
        Some(ImportStyle::C) => text.lines().for_each(|line| read_include(line, &mut found)),
        Some(ImportStyle::Go) => read_go(text, &mut found),
        Some(ImportStyle::Java) => text.lines().for_each(|line| read_java(line, &mut found)),
        Some(ImportStyle::Python) => for_each_statement(text, is_python_import, '\n', |statement| {
            read_python(statement, &mut found);
        }),
        Some(ImportStyle::Rust) => for_each_statement(text, is_rust_import, ';', |statement| {
            read_rust(statement, &mut found);
        }),
        Some(ImportStyle::Script) => text.lines().for_each(|line| read_script(line, &mut found)),
        None => {}
    }
    // Untrusted text could import the same folder a million times, and each is looked up.
    found.truncate(MOST_IMPORTS);
    found
}

fn push_import<'p>(found: &mut Vec<ImportPath>, start: ImportStart, parts: impl Iterator<Item = &'p str>) {
    let parts: Vec<String> = parts
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect();
    if !parts.is_empty() || matches!(start, ImportStart::Above(_)) {
        found.push(ImportPath { start, parts });
    }
}

/// Adds a path with slashes, as it is written between quotes.
fn push_written(found: &mut Vec<ImportPath>, written: &str, plain: ImportStart) {
    let mut rest = written;
    let mut above = None;
    loop {
        if let Some(after) = rest.strip_prefix("./") {
            (rest, above) = (after, above.or(Some(0)));
        } else if let Some(after) = rest.strip_prefix("../") {
            (rest, above) = (after, above.or(Some(0)).map(|levels| levels + 1));
        } else {
            break;
        }
    }
    match rest {
        "." => above = above.or(Some(0)),
        ".." => above = Some(above.unwrap_or(0) + 1),
        _ => {}
    }
    let start = above.map_or(plain, ImportStart::Above);
    push_import(
        found,
        start,
        rest.split('/').filter(|part| *part != "." && *part != ".."),
    );
}

/// Returns the first text between quotes.
fn first_quoted(text: &str) -> Option<&str> {
    let (start, quote) = text.char_indices().find(|(_, c)| matches!(c, '"' | '\'' | '`'))?;
    let rest = text.get(start + 1..)?;
    rest.split_once(quote).map(|(inside, _)| inside)
}

fn read_include(line: &str, found: &mut Vec<ImportPath>) {
    let Some(rest) = line.trim_start().strip_prefix('#') else {
        return;
    };
    let Some(rest) = rest.trim_start().strip_prefix("include") else {
        return;
    };
    let rest = rest.trim();
    // Projects include their own public headers with angle brackets, as their users do.
    let written = match rest.strip_prefix('<') {
        Some(system) => system.split_once('>').map(|(inside, _)| inside),
        None => first_quoted(rest),
    };
    if let Some(written) = written {
        push_written(found, written, ImportStart::Anywhere);
    }
}

fn read_go(text: &str, found: &mut Vec<ImportPath>) {
    let mut is_inside = false;
    for line in text.lines() {
        let written = line.trim();
        if is_inside && written.starts_with(')') {
            is_inside = false;
        } else if written.starts_with("import (") {
            is_inside = true;
        } else if is_inside || written.starts_with("import ") {
            if let Some(written) = first_quoted(written) {
                push_written(found, written, ImportStart::Anywhere);
            }
        } else if written.starts_with("func ") || written.starts_with("type ") {
            // The grammar of Go allows imports at the beginning only.
            return;
        }
    }
}

fn read_java(line: &str, found: &mut Vec<ImportPath>) {
    let Some(rest) = line.trim_start().strip_prefix("import ") else {
        return;
    };
    let rest = rest.trim_start();
    // `import static a.b.C.of` names a method, which the search for the path cuts off.
    let rest = rest.strip_prefix("static ").unwrap_or(rest);
    let end = rest.find([';', '{', ' ', '/']).unwrap_or(rest.len());
    let written = rest.get(..end).unwrap_or_default();
    push_import(
        found,
        ImportStart::Anywhere,
        written.split('.').filter(|part| !matches!(*part, "*" | "_")),
    );
}

fn is_python_import(line: &str) -> bool {
    line.starts_with("import ") || line.starts_with("from ")
}

fn read_python(statement: &str, found: &mut Vec<ImportPath>) {
    if let Some(rest) = statement.strip_prefix("from ") {
        let Some((module, names)) = rest.split_once(" import") else {
            return;
        };
        let module = module.trim();
        let path = module.trim_start_matches('.');
        let start = match (module.len() - path.len()).checked_sub(1) {
            Some(above) => ImportStart::Above(above),
            None => ImportStart::Anywhere,
        };
        // An imported name is a module or something inside one.
        for name in names.split([',', '(', ')', '\n']) {
            let name = name.split(" as ").next().unwrap_or_default().trim();
            let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
            if is_name {
                push_import(found, start, path.split('.').chain([name]));
            }
        }
    } else if let Some(rest) = statement.strip_prefix("import ") {
        for module in rest.split(',') {
            let module = module.split(" as ").next().unwrap_or_default();
            push_import(found, ImportStart::Anywhere, module.trim().split('.'));
        }
    }
}

fn is_rust_import(line: &str) -> bool {
    let line = line
        .strip_prefix("pub")
        .map_or(line, |rest| match rest.strip_prefix('(') {
            Some(rest) => rest.split_once(')').map_or(rest, |(_, after)| after),
            None => rest,
        });
    let line = line.trim_start();
    line.starts_with("use ") || (line.starts_with("mod ") && line.ends_with(';'))
}

fn read_rust(statement: &str, found: &mut Vec<ImportPath>) {
    let statement = statement.trim_end_matches(';');
    if let Some((_, name)) = statement
        .split_once("mod ")
        .filter(|(before, _)| before.len() < 16)
    {
        return push_import(found, ImportStart::Inside(0), [name].into_iter());
    }
    let Some((_, path)) = statement.split_once("use ") else {
        return;
    };
    // Of a group, each name is an import; what is deeper is left out.
    let (before, group) = path.split_once('{').unwrap_or((path, ""));
    let names: Vec<&str> = group.split([',', '}']).collect();
    for name in names {
        let name = name
            .split(['{', ' '])
            .find(|part| !part.trim().is_empty())
            .unwrap_or_default();
        let parts = before.split("::").chain(name.split("::"));
        let parts: Vec<&str> = parts
            .map(|part| part.split(" as ").next().unwrap_or_default().trim())
            .filter(|part| !part.is_empty() && *part != "*")
            .collect();
        let (start, skipped) = match parts.first() {
            Some(&"crate") => (ImportStart::Root, 1),
            Some(&"self") => (ImportStart::Inside(0), 1),
            Some(&"super") => {
                let levels = parts.iter().take_while(|part| **part == "super").count();
                (ImportStart::Inside(levels), levels)
            }
            Some(_) | None => (ImportStart::Anywhere, 0),
        };
        push_import(
            found,
            start,
            parts.into_iter().skip(skipped).filter(|part| *part != "self"),
        );
    }
}

fn read_script(line: &str, found: &mut Vec<ImportPath>) {
    let written = line.trim();
    // `} from './a'` ends a statement of several lines.
    let after = ["from ", "require(", "import(", "import "]
        .iter()
        .find_map(|word| Some((word, written.split_once(word)?.1)));
    let Some((word, rest)) = after else { return };
    let is_quoted = rest.trim_start().starts_with(['"', '\'', '`']);
    let is_statement = *word != "from "
        || ["import", "export", "}"]
            .iter()
            .any(|start| written.starts_with(start));
    if !is_quoted || !is_statement {
        return;
    }
    let Some(path) = first_quoted(rest).filter(|path| path.len() < 200) else {
        return;
    };
    match path.strip_prefix("@/").or_else(|| path.strip_prefix("~/")) {
        Some(path) => push_written(found, path, ImportStart::Root),
        None => push_written(found, path, ImportStart::Anywhere),
    }
}

/// Calls `each` with every statement that begins with a line for which `begins` is true. It goes on up to `end`, or to the
/// closing parenthesis if a statement ends with its line.
fn for_each_statement(text: &str, begins: impl Fn(&str) -> bool, end: char, mut each: impl FnMut(&str)) {
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let line = line.trim();
        if !begins(line) {
            continue;
        }
        let mut statement = line.to_owned();
        let is_open = |statement: &str| match end {
            ';' => !statement.ends_with(';'),
            _ => (statement.contains('(') && !statement.contains(')')) || statement.ends_with('\\'),
        };
        let mut taken = 0;
        while is_open(&statement) && taken < MOST_LINES {
            let Some(next) = lines.next() else { break };
            let continued = statement.trim_end_matches('\\').len();
            statement.truncate(continued);
            statement.push('\n');
            // A comment inside would hide the end of the statement.
            statement.push_str(next.split(['#']).next().unwrap_or_default().trim());
            taken += 1;
        }
        each(&statement);
    }
}
