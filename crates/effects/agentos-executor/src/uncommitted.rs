//! Finds the files of earlier landings without a commit that are still as they were landed.
//!
//! Owns: the comparison of receipts with index and commit. Never: writes, or looks at the working tree: a landing on top of
//! such a file checks it as every other.
//!
//! A person who tries, looks and tries again without a commit means the second change for the result of the first one. So
//! that result is part of the second one's base. It is known by its content: whoever edited or staged anything else there
//! since has taken the file over, and it counts as that person's uncommitted work again.

use std::collections::BTreeMap;

use agentos_landing::RepoPath;

use crate::base::find_entry;
use crate::presence::find_indexed;
use crate::splice::mode_bits;
use crate::{ExecError, FileId, Receipt, ReceiptFile, RepoError, Repository, TargetSpec, Writes, index};

impl Repository {
    /// Lists the files of earlier landings without a commit, oldest receipt first, whose result is still staged and is not in
    /// the commit that is checked out.
    ///
    /// # Errors
    /// When index or commit cannot be read.
    pub fn landed_uncommitted(&self, receipts: &[Receipt]) -> Result<Vec<ReceiptFile>, ExecError> {
        let mut last: BTreeMap<&RepoPath, Option<&FileId>> = BTreeMap::new();
        for receipt in receipts
            .iter()
            .filter(|receipt| receipt.writes == Writes::WorkTreeOnly)
        {
            for file in &receipt.files {
                // With a person's work the index has another content than the change, which the comparison below shows.
                last.insert(&file.path, file.new.as_ref());
            }
        }
        if last.is_empty() || self.is_bare() {
            return Ok(Vec::new());
        }
        let target = self.resolve(&TargetSpec::AtHead)?;
        let head = self.find_tree(&target.base_tree)?;
        let index = index::read_index(&self.index_path())?;
        let mut files = Vec::new();
        for (path, new) in last {
            let landed = new.map(|id| (id.oid.clone(), i64::from(mode_bits(id.mode))));
            let committed = find_entry(&head, path.as_str()).map_err(RepoError::git("read HEAD"))?;
            let committed = committed.map(|entry| (entry.id().to_string(), i64::from(entry.filemode())));
            if committed != landed && find_indexed(self, &index, path.as_str())? == landed {
                files.push(ReceiptFile {
                    path: path.clone(),
                    old: None,
                    new: new.cloned(),
                });
            }
        }
        Ok(files)
    }
}
