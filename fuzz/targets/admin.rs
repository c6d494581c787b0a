//! The target `admin`: see its body.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pacegate_fuzz::admin::body(data));
