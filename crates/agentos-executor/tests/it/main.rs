//! The executor against real repositories, with the real git as the judge.
