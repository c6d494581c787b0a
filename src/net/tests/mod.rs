//! How origins misbehave, and what becomes of it: scripted sockets on loopback.

mod bodies;
mod body;
mod connections;
mod dialling;
mod faults;
mod http2;
mod secure;
mod through;
mod tls;
mod wire;
mod world;
