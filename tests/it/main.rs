//! The proxy from outside: the real binary between scripted origins and raw clients. One module per
//! behaviour; `world` is the stage they play on.

mod documents;
mod faults;
mod first_page;
mod heads;
mod ladder;
mod leaving;
mod once;
mod pages;
mod shutdown;
mod steering;
mod story;
mod tunnels;
mod verdicts;
mod waits;
mod window;
#[expect(dead_code, reason = "a stage has more props than the plays of the day use")]
mod world;
mod world_works;
