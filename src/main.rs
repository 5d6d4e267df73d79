//! The `millstream` binary: see [`millstream::cli`].

/// Simulations allocate many small pieces on all threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    millstream::cli::main()
}
