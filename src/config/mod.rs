//! What was asked? The file, the environment and the flags, read into settings that can't be wrong.
//!
//! Only this room knows that YAML exists, and only `load` in it does IO.
