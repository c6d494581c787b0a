//! The proxy from outside: the real binary between scripted origins and raw clients. One module per
//! behaviour; `world` is the stage they play on.

mod amended;
mod bodies;
mod certificates;
mod connects;
mod corners;
mod counted;
mod descriptors;
mod documents;
mod endless;
mod faults;
mod fields;
mod first_page;
mod floods;
mod garbage;
mod heads;
mod keeping;
mod ladder;
mod leaving;
mod once;
mod pages;
mod reload;
mod reports;
mod second;
mod second_origins;
mod shutdown;
mod slow;
mod steering;
mod story;
mod streaming;
mod streams;
mod targets;
mod trouble;
mod tunnels;
mod unread;
mod verdicts;
mod via;
mod waited;
mod waits;
mod weight;
mod window;
mod words;
#[expect(dead_code, reason = "a stage has more props than the plays of the day use")]
mod world;
mod world_works;
