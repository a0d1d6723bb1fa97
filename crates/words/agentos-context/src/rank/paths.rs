//! The files of a repository that imports mean.
//!
//! Owns: where a language looks for an import, as far as the paths alone show it. Never: reads a file, so that settings of a
//! compiler or a build which map names to folders are not known.

use std::collections::HashMap;
use std::rc::Rc;

use super::FileRanker;
use crate::imports::{ImportPath, ImportStart, ImportStyle};

/// Maximum number of files of a folder that one import means.
const MOST_IN_FOLDER: usize = 12;
/// Maximum number of entries of a folder that are looked at for them.
const MOST_ENTRIES: usize = 200;
/// Maximum number of parts at the end of an import that are names inside the file.
const MOST_NAMES: usize = 2;
/// Folders in which the sources of a project begin.
const ROOTS: [&str; 7] = [
    "",
    "src",
    "lib",
    "include",
    "packages",
    "src/main/java",
    "main/java",
];
/// Names of the file with which a folder is imported.
const SCRIPT_FOLDERS: [&str; 3] = ["", "/index", "/src/index"];
const MODULE_FOLDERS: [&str; 5] = ["", "/__init__", "/mod", "/lib", "/src/lib"];

/// Finds files by paths without endings.
pub(super) struct PathFinder<'r, 'q> {
    ranker: &'r FileRanker<'q>,
    /// Number of files at the beginning that are sorted by path: the listing. Files that the user names may follow.
    sorted: usize,
    /// Folders in which an import of a folder's files is looked for, by its first part. The imports of a file begin alike, and
    /// most are from elsewhere.
    known: HashMap<(String, String), Rc<[String]>>,
}

impl<'r, 'q> PathFinder<'r, 'q> {
    pub(super) fn new(ranker: &'r FileRanker<'q>) -> Self {
        let pairs = ranker.files.iter().zip(ranker.files.iter().skip(1));
        let sorted = pairs.take_while(|(a, b)| a.path < b.path).count() + 1;
        Self {
            ranker,
            sorted: sorted.min(ranker.files.len()),
            known: HashMap::new(),
        }
    }

    /// Returns the numbers of the files that an import of the file `from` means. Empty for an import from elsewhere.
    pub(super) fn find_import(&mut self, from: &str, import: &ImportPath) -> Vec<usize> {
        let Some(style) = ImportStyle::of_path(from) else {
            return Vec::new();
        };
        let folder = folder_of(from);
        let parts: Vec<&str> = import.parts.iter().map(String::as_str).collect();
        let base = match import.start {
            ImportStart::Above(levels) => climb_folders(folder, levels).map(str::to_owned),
            ImportStart::Inside(levels) => {
                // The submodules of `a.rs` are in the folder `a`, and those of `a/mod.rs` next to it.
                let stem = file_stem(from);
                let is_root = matches!(stem, "mod" | "lib" | "main");
                let module = if is_root {
                    folder.to_owned()
                } else {
                    join_path(folder, stem)
                };
                climb_folders(&module, levels).map(str::to_owned)
            }
            ImportStart::Root => Some(self.find_root(folder)),
            ImportStart::Anywhere => return self.find_anywhere(folder, &parts, style),
        };
        base.map_or_else(Vec::new, |base| self.find_below(&base, &parts, style, folder))
    }

    /// Returns the nearest folder of sources around a folder.
    fn find_root(&self, folder: &str) -> String {
        let mut above = Some(folder);
        while let Some(at) = above {
            // Cargo and the templates of bundlers put the sources in `src`.
            let src = join_path(at, "src");
            if at.rsplit('/').next() == Some("src") {
                return at.to_owned();
            }
            if self.has_path(&src) {
                return src;
            }
            above = climb_folders(at, 1).filter(|_| !at.is_empty());
        }
        String::new()
    }

    /// Finds an import in the folders around a file, the nearest first.
    fn find_anywhere(&mut self, folder: &str, parts: &[&str], style: ImportStyle) -> Vec<usize> {
        for parts in list_local_names(parts, style) {
            let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
            let Some(first) = parts.first() else { continue };
            for start in self.list_starts(folder, first).iter() {
                let found = self.find_below(start, &parts, style, folder);
                if !found.is_empty() {
                    return found;
                }
            }
        }
        Vec::new()
    }

    /// Returns the folders around a folder, the nearest first, in which there is a file or a folder of this name.
    fn list_starts(&mut self, folder: &str, first: &str) -> Rc<[String]> {
        let key = (folder.to_owned(), first.to_owned());
        if let Some(known) = self.known.get(&key) {
            return Rc::clone(known);
        }
        let mut starts = Vec::new();
        // A package can be inside another one, so the nearest place counts, as for compilers.
        let mut above = Some(folder);
        while let Some(at) = above {
            let roots = ROOTS.iter().map(|root| join_path(at, root));
            starts.extend(roots.filter(|start| self.has_path(&join_path(start, first))));
            above = climb_folders(at, 1);
        }
        let starts: Rc<[String]> = starts.into();
        self.known.insert(key, Rc::clone(&starts));
        starts
    }

    /// Finds a path below a folder, or one without its last parts, which can be names inside a file.
    fn find_below(&self, base: &str, parts: &[&str], style: ImportStyle, folder: &str) -> Vec<usize> {
        let least = match style {
            ImportStyle::Python if base.is_empty() => 1,
            ImportStyle::Python => 0,
            ImportStyle::Rust | ImportStyle::Java => 1,
            ImportStyle::C | ImportStyle::Go | ImportStyle::Script => parts.len(),
        };
        let least = least.max(parts.len().saturating_sub(MOST_NAMES));
        for count in (least..=parts.len()).rev() {
            let path = parts
                .iter()
                .take(count)
                .fold(base.to_owned(), |path, part| join_path(&path, part));
            let found = self.find_module(&path, style, folder);
            if !found.is_empty() {
                return found;
            }
        }
        Vec::new()
    }

    /// Finds the files of a module by its path.
    fn find_module(&self, path: &str, style: ImportStyle, folder: &str) -> Vec<usize> {
        match style {
            ImportStyle::Go => self.list_package(path),
            ImportStyle::C => self.find_header(path, folder),
            ImportStyle::Script => match self.find_exact(path) {
                Some(file) => vec![file],
                // TypeScript imports `./a.ts` as `./a.js`.
                None => {
                    let endings = [".js", ".jsx", ".mjs"];
                    let stem = endings.iter().find_map(|ending| path.strip_suffix(ending));
                    self.find_first(stem.unwrap_or(path), &SCRIPT_FOLDERS, style)
                }
            },
            ImportStyle::Java | ImportStyle::Python | ImportStyle::Rust => {
                self.find_first(path, &MODULE_FOLDERS, style)
            }
        }
    }

    fn find_first(&self, path: &str, names: &[&str], style: ImportStyle) -> Vec<usize> {
        let found = names
            .iter()
            .find_map(|name| self.list_endings(&[path, name].concat(), style).first().copied());
        found.into_iter().collect()
    }

    /// Lists the sources of a Go package without its tests.
    fn list_package(&self, path: &str) -> Vec<usize> {
        let start = join_path(path, "");
        let start = if start.is_empty() { start } else { start + "/" };
        let first = self.find_position(&start);
        let inside =
            (first..first + MOST_ENTRIES).map_while(|at| Some((at, self.path_at(at).strip_prefix(&start)?)));
        let sources = inside
            .filter(|(_, name)| !name.contains('/') && name.ends_with(".go") && !name.ends_with("_test.go"));
        sources.map(|(at, _)| at).take(MOST_IN_FOLDER).collect()
    }

    /// Finds a header, and the source of the same name next to it or next to the file that includes it.
    fn find_header(&self, path: &str, folder: &str) -> Vec<usize> {
        let Some(header) = self.find_exact(path) else {
            return Vec::new();
        };
        let mut found = vec![header];
        if let Some((stem, _)) = path.rsplit_once('.') {
            let near = join_path(folder, file_stem(path));
            for stem in [stem, near.as_str()] {
                for file in self.list_endings(stem, ImportStyle::C) {
                    if !found.contains(&file) {
                        found.push(file);
                    }
                }
            }
        }
        found
    }

    /// Lists the files with this path and one of the endings of a language.
    fn list_endings(&self, stem: &str, style: ImportStyle) -> Vec<usize> {
        let start = [stem, "."].concat();
        let first = self.find_position(&start);
        let inside =
            (first..first + MOST_ENTRIES).map_while(|at| Some((at, self.path_at(at).strip_prefix(&start)?)));
        inside
            .filter(|(_, ending)| style.list_endings().contains(ending))
            .map(|(at, _)| at)
            .collect()
    }

    fn find_exact(&self, path: &str) -> Option<usize> {
        let at = self.find_position(path);
        (!path.is_empty() && self.path_at(at) == path).then_some(at)
    }

    /// Returns true if a file with any ending, or a folder, has this path.
    fn has_path(&self, path: &str) -> bool {
        let next = |at: usize| {
            let rest = self.path_at(at).strip_prefix(path)?;
            Some(rest.bytes().next())
        };
        match next(self.find_position(path)) {
            None => false,
            Some(None | Some(b'.' | b'/')) => true,
            // `path-old.c` comes before `path.c`.
            Some(Some(byte)) if byte < b'.' => {
                let at = self.find_position(&[path, "."].concat());
                matches!(next(at), Some(Some(b'.' | b'/')))
            }
            Some(Some(_)) => false,
        }
    }

    /// Returns the position of the first file whose path is not before a text.
    fn find_position(&self, text: &str) -> usize {
        let files = self.ranker.files.get(..self.sorted).unwrap_or_default();
        files.partition_point(|file| file.path.as_str() < text)
    }

    /// Returns the path at a position, or an empty text after the last one.
    fn path_at(&self, at: usize) -> &'r str {
        let files = self.ranker.files.get(..self.sorted).unwrap_or_default();
        files.get(at).map_or("", |file| file.path.as_str())
    }
}

/// Returns the paths inside the repository that an import can mean, without the part that names a host, an owner or a module.
fn list_local_names(parts: &[&str], style: ImportStyle) -> Vec<Vec<String>> {
    let from = |at: usize| {
        parts
            .iter()
            .skip(at)
            .map(|part| (*part).to_owned())
            .collect::<Vec<String>>()
    };
    let first = parts.first().copied().unwrap_or_default();
    match style {
        // `host/owner/name/folder`; without a dot it is `module/folder`, or part of the standard library.
        ImportStyle::Go if first.contains('.') => (1..parts.len()).map(from).collect(),
        ImportStyle::Go => (1..parts.len().min(2)).map(from).collect(),
        ImportStyle::Script if first.starts_with('@') => vec![from(1)],
        // A crate is in a folder whose name may have other separators.
        ImportStyle::Rust if first.contains('_') => {
            let mut other = from(0);
            if let Some(first) = other.first_mut() {
                *first = first.replace('_', "-");
            }
            vec![from(0), other]
        }
        ImportStyle::C
        | ImportStyle::Java
        | ImportStyle::Python
        | ImportStyle::Rust
        | ImportStyle::Script => {
            vec![from(0)]
        }
    }
}

/// Returns the name of a file without folders and endings.
pub(super) fn file_stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.split_once('.').map_or(name, |(stem, _)| stem)
}

fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Returns the folder so many levels above one. `None` if there are fewer.
fn climb_folders(folder: &str, levels: usize) -> Option<&str> {
    let mut at = folder;
    for _ in 0..levels {
        if at.is_empty() {
            return None;
        }
        at = folder_of(at);
    }
    Some(at)
}

fn join_path(folder: &str, name: &str) -> String {
    match (folder.is_empty(), name.is_empty()) {
        (true, _) => name.to_owned(),
        (false, true) => folder.to_owned(),
        (false, false) => [folder, "/", name].concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::PathFinder;
    use crate::imports::list_imports;
    use crate::query::TaskQuery;
    use crate::rank::FileRanker;

    /// Returns the files that a text imports.
    fn find_imported(files: &[&str], from: &str, text: &str) -> Vec<String> {
        let query = TaskQuery::default();
        let mut ranker = FileRanker::new(&query);
        let mut files = files.to_vec();
        files.sort_unstable();
        for path in &files {
            ranker.add_path(path);
        }
        let mut finder = PathFinder::new(&ranker);
        let imports = list_imports(from, text);
        let found = imports.iter().flat_map(|import| finder.find_import(from, import));
        let mut paths: Vec<String> = found.map(|at| ranker.path_of(at).to_owned()).collect();
        // Several names of one module are one file.
        paths.dedup();
        paths
    }

    #[test]
    fn an_import_finds_its_file_in_each_language() {
        let cases = [
            (
                "src/flask/app.py",
                "from .sansio.app import App\nfrom . import cli\nimport os\nfrom flask.ctx import (\n    AppContext,  # kept\n)\n",
                vec!["src/flask/sansio/app.py", "src/flask/cli.py", "src/flask/ctx.py"],
            ),
            (
                "crates/shop/src/a/b.rs",
                "use crate::words::{Word, Other};\nuse super::c;\nmod d;\nuse other_crate::go;\nuse std::fmt;\n",
                vec![
                    "crates/shop/src/words.rs",
                    "crates/shop/src/a/c.rs",
                    "crates/shop/src/a/b/d.rs",
                    "crates/other-crate/src/lib.rs",
                ],
            ),
            (
                "context.go",
                "import (\n\t\"encoding/json\"\n\tb \"github.com/gin-gonic/gin/binding\"\n)\nfunc a() { x(\"render\") }\n",
                vec!["binding/form.go", "binding/json.go"],
            ),
            (
                "packages/core/src/a.ts",
                "import {\n  b,\n} from './b.js'\nexport * from '../utils'\nimport { c } from '@vue/shared'\nimport x from 'lodash'\n",
                vec![
                    "packages/core/src/b.ts",
                    "packages/core/utils/index.ts",
                    "packages/shared/src/index.ts",
                ],
            ),
            (
                "src/test/java/org/shop/CartTest.java",
                "import org.shop.Cart;\nimport static org.shop.Cart.of;\nimport java.util.List;\n",
                vec!["src/main/java/org/shop/Cart.java"],
            ),
            (
                "src/unix/tcp.c",
                "#include \"uv.h\"\n#include \"internal.h\"\n#include <assert.h>\n",
                vec!["include/uv.h", "src/unix/internal.h"],
            ),
            ("README.md", "import os\n", vec![]),
        ];
        let files = [
            "src/flask/sansio/app.py",
            "src/flask/cli.py",
            "src/flask/ctx.py",
            "crates/shop/src/words.rs",
            "crates/shop/src/a/c.rs",
            "crates/shop/src/a/b/d.rs",
            "crates/other-crate/src/lib.rs",
            "binding/form.go",
            "binding/json.go",
            "binding/json_test.go",
            "packages/core/src/b.ts",
            "packages/core/utils/index.ts",
            "packages/shared/src/index.ts",
            "src/main/java/org/shop/Cart.java",
            "include/uv.h",
            "src/unix/internal.h",
        ];
        for (from, text, expected) in cases {
            assert_eq!(find_imported(&files, from, text), expected, "{from}");
        }
    }

    #[test]
    fn a_path_above_the_repository_means_nothing() {
        let found = find_imported(&["a.js"], "b.js", "require('../../a'); \nrequire('')\n");
        assert!(found.is_empty(), "{found:?}");
    }
}
