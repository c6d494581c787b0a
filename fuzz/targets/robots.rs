//! The target `robots`: see its body.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pacegate_fuzz::robots::body(data));
