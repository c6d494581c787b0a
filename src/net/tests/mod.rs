//! How origins misbehave, on loopback.
