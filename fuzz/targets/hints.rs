//! The target `hints`: see its body.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pacegate_fuzz::hints::body(data));
