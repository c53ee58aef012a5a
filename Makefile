# The two commands of the README: `make demo` and `make test`.

CARGO ?= cargo

.PHONY: demo test bench docs clean

demo:
	$(CARGO) build --release --locked -p pando
	target/release/pando demo $(DIR)

test:
	.ci/run

bench:
	.ci/run bench

docs:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --workspace --no-deps
	@if command -v mdbook >/dev/null; then mdbook build docs; \
	else echo "mdbook is not installed; docs/SUMMARY.md lists the pages, readable as they are"; fi

clean:
	$(CARGO) clean
