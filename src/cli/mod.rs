//! What was asked on the command line: one file per command, each a plain function.
