//! The `millstream` binary: see [`millstream::cli`].

fn main() -> std::process::ExitCode {
    millstream::cli::main()
}
