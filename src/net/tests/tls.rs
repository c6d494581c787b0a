//! Origins whose TLS is wrong, and right.
