//! The register: what HTTP asks of a forward proxy, as 121 numbered statements, each with the probes
//! that hold it.
//!
//! A row is data: its number, its statement, the RFC's section, how we stand to it, and a list of
//! probes. A probe is black-box: bytes from a raw client, a scripted origin, and a judgement over what
//! both received. `cargo test --test register` holds our own binary to every row. The same probes can
//! be played to another proxy (`measure_a_peer`, see `.ci/conformance-peers`); what came of it stands
//! in `docs/conformance/`, and `docs/conformance.md` is written from both (see `page`).

#[macro_use]
mod row;
mod frames;
mod h2_origin;
mod page;
mod peer;
mod play;
mod rows;
#[path = "../it/world/mod.rs"]
#[expect(dead_code, reason = "the stage is shared with the tests in `it`, which use more of it")]
mod world;
