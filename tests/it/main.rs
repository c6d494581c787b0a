//! The proxy from outside: the real binary between scripted origins and raw clients. One module per
//! behaviour; `world` is the stage they play on.

mod documents;
mod first_page;
mod leaving;
#[expect(dead_code, reason = "a stage has more props than the plays of the day use")]
mod world;
mod world_works;
