//! The program: its allocator and its exit code.

use std::process::ExitCode;

/// Gives memory back after a crowd of holds has ended.
#[cfg(all(not(loom), not(target_env = "msvc")))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    // Without its background thread the allocator returns memory only when asked for more.
    #[cfg(all(not(loom), not(target_env = "msvc")))]
    let _ = tikv_jemalloc_ctl::background_thread::write(true);
    #[cfg(not(loom))]
    return pacegate::cli::main();
    #[cfg(loom)]
    ExitCode::FAILURE
}
