//! Writes seeds of the fuzz target `land`, made of the landing corpus: `seeds FOLDER MOST_BYTES`.
//!
//! Owns: nothing but the files. Never: makes a seed; the corpus does.

use std::error::Error;
use std::path::PathBuf;

use agentos_testkit::landing::Corpus;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(folder), Some(most_bytes)) = (args.next().map(PathBuf::from), args.next()) else {
        return Err("usage: seeds FOLDER MOST_BYTES".into());
    };
    std::fs::create_dir_all(&folder)?;
    for (name, seed) in Corpus::read()?.seeds(most_bytes.parse()?) {
        std::fs::write(folder.join(name), seed)?;
    }
    Ok(())
}
