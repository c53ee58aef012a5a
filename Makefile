# The two commands of the README: `make demo` and `make test`. `make bench` measures Pando beside
# Debian's slapd (benches/README.md); ARGS="--entries 20000 --seconds 2" makes it short.
# `make one TEST=clients/compare` builds what has changed and runs the tests of tests/clients whose names
# have `compare` in them.
# `make bench-accounts ACCOUNTS=30000000` imports, serves, backs up, exports and restores accounts.
# `make bench-views ENTRIES=1000000` measures windows on sorted lists and sorted pages.
# `make bench-imports ENTRIES=5000000` imports from LDIF, a template and FIFOs beside slapadd.
# `make bench-connections` measures thousands of connections beside few.
# `make bench-protection` measures what access rules, a password policy and the audit cost.
# `make bench-cluster` measures three nodes that all take changes beside three slapd; ARGS="--seconds 10"
# makes it short.
# `make soak SECONDS=3600` loads a node for an hour and plots what it needs.
# `make crashes MEMBERS=10000000` kills imports, index builds, compactions, backups and replacements.
# `make cluster-faults ROUNDS=200` kills and halts processes of a cluster while clients read and write,
# cuts, slows down and heals the links between its sites, as root, and lets all other faults happen.
# `make cluster-soak HOURS=24` loads three nodes and looks whether memory, files and the log stay flat;
# MINUTES=60 makes it short.
# `make etcd` builds etcd, the log of a cluster, from its Go modules into target/etcd.
# `make fuzz SECONDS=60` fuzzes every decoder for a minute; TARGETS="ldif name" only these.

CARGO ?= cargo

.PHONY: demo test one bench bench-accounts bench-cluster bench-connections bench-fairness bench-groups bench-imports bench-protection bench-views soak cluster-faults cluster-soak crashes etcd fuzz docs clean

demo:
	$(CARGO) build --release --locked -p pando
	target/release/pando demo $(DIR)

test:
	.ci/run

one:
	@test -n "$(TEST)" || { echo "expected TEST=BINARY/NAME, such as clients/compare" >&2; exit 2; }
	$(CARGO) build --locked -p pando
	@test='$(TEST)'; name="$${test#*/}"; [ "$$name" != "$$test" ] || name=; \
	set -x; env -u PANDO_BIN $(CARGO) test --locked -p pando-tests --test "$${test%%/*}" -- $$name

bench:
	$(CARGO) build --release --locked -p pando -p pando-benches
	target/release/compare $(ARGS)

bench-accounts:
	$(CARGO) build --release --locked -p pando
	benches/accounts $(ACCOUNTS) $(FOLDER)

bench-cluster:
	@test -n "$$PANDO_ETCD" || tools/etcd/build
	$(CARGO) build --release --locked -p pando -p pando-benches
	target/release/cluster $(ARGS)

bench-connections:
	$(CARGO) build --release --locked -p pando -p pando-benches
	target/release/connections $(ARGS)

bench-fairness:
	$(CARGO) build --release --locked -p pando -p pando-benches
	target/release/fairness $(ARGS)

bench-protection:
	$(CARGO) build --release --locked -p pando -p pando-benches
	target/release/protection $(ARGS)

bench-groups:
	$(CARGO) build --release --locked -p pando -p pando-benches
	target/release/groups $(ARGS)

bench-imports:
	$(CARGO) build --release --locked -p pando -p pando-benches
	target/release/imports $(if $(ENTRIES),--entries $(ENTRIES)) $(ARGS)

bench-views:
	$(CARGO) build --release --locked -p pando -p pando-benches
	target/release/views $(if $(ENTRIES),--entries $(ENTRIES)) $(ARGS)

soak:
	$(CARGO) build --release --locked -p pando
	benches/soak $(SECONDS)

crashes:
	$(CARGO) build --release --locked -p pando -p pando-benches
	target/release/crashes $(if $(MEMBERS),--members $(MEMBERS)) $(ARGS)

cluster-faults: etcd
	$(CARGO) build --release --locked -p pando
	PANDO_BIN=$(CURDIR)/target/release/pando PANDO_FAULT_ROUNDS=$(or $(ROUNDS),200) \
	PANDO_FAULT_MEMBERS=$(or $(MEMBERS),200000) \
	$(CARGO) test --release --locked -p pando-tests --test cluster -- faults partitions twins \
	lost_log damage full_ clocks joins changing rejoining recovery voters \
	--test-threads 1 --nocapture

cluster-soak: etcd
	$(CARGO) build --release --locked -p pando
	PANDO_BIN=$(CURDIR)/target/release/pando \
	PANDO_SOAK_MINUTES=$(or $(MINUTES),$(shell expr $(or $(HOURS),24) \* 60)) \
	$(CARGO) test --release --locked -p pando-tests --test cluster -- soak \
	--test-threads 1 --nocapture

etcd:
	tools/etcd/build

fuzz:
	fuzz/run $(or $(SECONDS),30) $(TARGETS)

docs:
	.ci/run docs
	@if command -v mdbook >/dev/null; then mdbook build docs; \
	else echo "mdbook is not installed; docs/SUMMARY.md lists the pages, readable as they are"; fi

clean:
	$(CARGO) clean
