//! How origins misbehave, and what becomes of it: scripted sockets on loopback.

mod bodies;
mod body;
mod connections;
mod dialling;
mod faults;
mod tls;
mod world;
