//! libgit2's own patch code behind a command line: `landing-peers libgit2 WORK_TREE PATCH_FILE`, exit 0 on success.
//!
//! Owns: calling libgit2 as its documentation says: parse, apply to the tree of HEAD, check out the result.
//! Never: repairs what it is given; a library without a command line is measured as it is.

use std::path::Path;
use std::process::ExitCode;

use git2::build::CheckoutBuilder;
use git2::{Diff, Error, Repository};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [tool, repository, patch] = args.as_slice() else {
        eprintln!("usage: landing-peers libgit2 WORK_TREE PATCH_FILE");
        return ExitCode::from(2);
    };
    let outcome = match tool.as_str() {
        "libgit2" => read(patch).and_then(|patch| apply_with_libgit2(Path::new(repository), &patch)),
        other => Err(Error::from_str(&format!("there is no peer `{other}`"))),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Reads a patch file, with the reason as an error of libgit2.
fn read(file: &str) -> Result<Vec<u8>, Error> {
    std::fs::read(file).map_err(|error| Error::from_str(&error.to_string()))
}

/// Applies a patch to the tree of HEAD and checks the result out.
fn apply_with_libgit2(work_tree: &Path, patch: &[u8]) -> Result<(), Error> {
    let repository = Repository::open(work_tree)?;
    let diff = Diff::from_buffer(patch)?;
    let base = repository.head()?.peel_to_tree()?;
    let mut index = repository.apply_to_tree(&base, &diff, None)?;
    let result = index.write_tree_to(&repository)?;
    // An exit with 0 counts as a claim that the patch landed, so a patch without an effect must not end that way.
    if result == base.id() {
        return Err(Error::from_str("the patch changes nothing"));
    }
    let result = repository.find_tree(result)?;
    let mut checkout = CheckoutBuilder::new();
    // Forced: the working tree of a measurement is disposable, so nothing in it needs protection.
    checkout.force().remove_untracked(false);
    repository.checkout_tree(result.as_object(), Some(&mut checkout))
}
