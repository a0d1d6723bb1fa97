//! Tests of turns with a scripted model and scripted tools. The runtime's time is paused, so waiting takes no time.

mod rounds;
mod stops;
mod support;
mod tools;
mod windows;
