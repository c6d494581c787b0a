# The phone book: `just` lists it. Each line is a command that works without just, too.

_default:
    @just --list --unsorted

# Format, lint and test: before every commit
check:
    cargo fmt && cargo clippy --all-targets -- -D warnings && cargo test

# The tests of one behaviour, with their output: just it first_page
it name:
    cargo test --test it {{ name }} -- --nocapture

# Other people's suites and servers (requests, varnishtest, nginx, HAProxy, sslyze, …)
suites *names:
    .ci/suites {{ names }}

# Real clients (curl, requests, Scrapy, Node, …) through `pacegate run`
clients:
    .ci/clients && cargo test --test clients

# The micro-benchmarks
bench:
    cargo bench

# The fuzz targets for some seconds each; with a number, so many runs of each: just fuzz 5000000 request
fuzz *what:
    .ci/fuzz {{ what }}

# The container image, built and tried without a registry
image:
    .ci/image

# All that has to hold before a change lands
ci:
    .ci/run
