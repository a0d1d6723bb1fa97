//! What the fuzz targets claim of landing, for any bytes whatever.
//!
//! Owns: reading a fuzzer's bytes as a case, and the claims. Never: draws by chance; the same bytes are always the
//! same case.

mod any_answer;
#[path = "../../benches/landing/base.rs"]
mod base;
mod damage;
mod dialect;
mod roundtrip;
mod series;

pub use any_answer::any_answer;
pub use roundtrip::roundtrip;
pub use series::series;
