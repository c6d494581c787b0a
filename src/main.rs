//! The program: its allocator and its exit code.

use std::process::ExitCode;

/// Gives memory back after a crowd of holds has ended.
#[cfg(all(not(loom), not(target_env = "msvc")))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Without its background thread the allocator returns memory only when asked for more, and by
/// default what was freed is kept for ten seconds. What it refuses stays as it was.
#[cfg(all(not(loom), not(target_env = "msvc")))]
fn return_memory() {
    use tikv_jemalloc_ctl::{Access, AsName};
    const KEPT_MILLIS: isize = 1000;
    // The arenas to come, and the one that this thread has.
    for name in ["arenas.dirty_decay_ms\0", "arena.0.dirty_decay_ms\0"] {
        let _ = name.name().write(KEPT_MILLIS);
    }
    let _ = tikv_jemalloc_ctl::background_thread::write(true);
}

fn main() -> ExitCode {
    #[cfg(all(not(loom), not(target_env = "msvc")))]
    return_memory();
    #[cfg(not(loom))]
    return pacegate::cli::main();
    #[cfg(loom)]
    ExitCode::FAILURE
}
