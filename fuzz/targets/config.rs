//! The target `config`: see its body.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pacegate_fuzz::config::body(data));
