# Targets for developers. Start with `make quickstart` and `make test`; no other set-up is needed.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.PHONY: all build install release providers services backends histories quickstart estate test quick clients realworld browser pictures check vulnerabilities unit race golden bench scale warm refreshing adopting performance fuzz faults queue cross clean

export CGO_ENABLED ?= 0
GOBUILD := go build -trimpath -buildvcs=false
STATICCHECK := go run honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK := go run golang.org/x/vuln/cmd/govulncheck@v1.9.0
BENCHSTAT := go run golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da

all: build

# ---- binaries

# The tag omits gRPC's trace pages for browsers. Their templates would keep the linker from removing
# unused methods, which are a sixth of the program.
OUT ?= bin/tofu
COMMIT ?= $(shell git describe --always --dirty --abbrev=40 --exclude='*' 2>/dev/null)
build:
	$(GOBUILD) -tags grpcnotrace -ldflags '-X tofu/internal/version.commit=$(COMMIT) $(GOLINK)' -o $(OUT) ./cmd/tofu

# Installs the program as PREFIX/bin/NAME. With a NAME of its own it can live beside OpenTofu.
PREFIX ?= /usr/local
NAME ?= tofu
install: build
	install -d '$(DESTDIR)$(PREFIX)/bin'
	install -m 755 $(OUT) '$(DESTDIR)$(PREFIX)/bin/$(NAME)$(EXE)'

# Builds what a release consists of into dist: archives, packages, checksums, an SBOM and a statement
# about the build. release/sign.go says which variables give keys for signatures.
PLATFORMS ?=
release:
	go -C release run . -source $(CURDIR) -out $(CURDIR)/dist $(if $(PLATFORMS),-platforms '$(PLATFORMS)')

# The test providers, as an unpacked filesystem mirror. Each entry is TYPE@VERSION. A digit at the end
# of a type is the protocol version of that variant. With two versions of one provider, tests can
# select and upgrade.
PROVIDERS := files@1.0.0 files@1.1.0 files5@1.0.0 notes@1.0.0 synth@1.0.0
PLATFORM := $(shell go env GOOS)_$(shell go env GOARCH)
EXE := $(shell go env GOEXE)
MIRROR := build/mirror
PROVIDER_SOURCES := $(shell find testing/providers -name '*.go' -not -name '*_test.go') testing/providers/go.mod testing/providers/go.sum

# $(call binary,TYPE@VERSION) is the path of that plugin in the mirror.
type = $(word 1,$(subst @, ,$(1)))
version = $(word 2,$(subst @, ,$(1)))
binary = $(MIRROR)/example.com/tofu/$(call type,$(1))/$(call version,$(1))/$(PLATFORM)/terraform-provider-$(call type,$(1))_v$(call version,$(1))$(EXE)

define provider_rule
$(call binary,$(1)): $(PROVIDER_SOURCES)
	@mkdir -p $$(@D)
	cd testing/providers && $(GOBUILD) -ldflags '-s -w -X main.name=$(call type,$(1)) -X main.version=$(call version,$(1))' \
		-o $(CURDIR)/$$@ ./cmd/terraform-provider-$(subst 5,,$(call type,$(1)))
endef
$(foreach p,$(PROVIDERS),$(eval $(call provider_rule,$(p))))

providers: $(foreach p,$(PROVIDERS),$(call binary,$(p)))

quickstart:
	@$(MAKE) -s build providers
	@examples/quickstart/run.sh

estate: build
	examples/estate/run.sh

# ---- tests

test: check unit race

# Checks what changed since BASE, a commit, and what imports it. Without BASE, see testing/quick.sh.
quick: providers
	STATICCHECK="$(STATICCHECK)" testing/quick.sh $(BASE)

check:
	@unformatted=$$(gofmt -l $$(git ls-files --cached --others --exclude-standard '*.go')); \
	if [ -n "$$unformatted" ]; then printf 'run gofmt -w on:\n%s\n' "$$unformatted"; exit 1; fi
	go vet ./...
	$(STATICCHECK) ./...
	cd testing/providers && go vet ./... && $(STATICCHECK) ./...
	cd testing/browser && go vet ./... && $(STATICCHECK) ./...
	cd testing/clients && go vet ./... && $(STATICCHECK) ./...
	cd release && go vet ./... && $(STATICCHECK) ./...
	@$(MAKE) -s vulnerabilities

# Reports known vulnerabilities in dependencies. Without network access it prints a notice and succeeds.
vulnerabilities:
	@status=0; report=$$($(GOVULNCHECK) ./cmd/tofu 2>&1) || status=$$?; \
	case $$status,$$report in \
	0,*) ;; \
	*"fetching vulnerabilities"*) printf 'skipped the check for known vulnerabilities: %s\n' "$$report" ;; \
	*) printf '%s\n' "$$report"; exit $$status ;; \
	esac

unit: build providers
	go test -timeout 30m ./...
	cd testing/providers && TF_ACC_TERRAFORM_PATH=$(abspath $(OUT)) go test ./...
	cd release && go test ./...
	@$(MAKE) -s browser
	@$(MAKE) -s clients SUITE=terraform-json

# Drives the page of a plan in Chromium.
browser:
	cd testing/browser && go test ./...

# Runs a test suite of another program, or a reader of output, with this program and with REF.
# PROGRAM and FOLDER are made outside of the project; without SUITE, it lists the suites.
clients: build
	go -C testing/clients run . -bin $(CURDIR)/$(OUT) $(if $(REF),-ref $(abspath $(REF))) \
		$(SUITE) $(if $(PROGRAM),$(abspath $(PROGRAM))) $(if $(FOLDER),$(abspath $(FOLDER)))

# Runs an estate with PostgreSQL and BIND (Debian's postgresql and bind9). MIRROR_OF_PROVIDERS is a
# filesystem mirror with the providers cyrilgdn/postgresql and hashicorp/dns.
realworld: build
	REALWORLD_BIN=$(abspath $(OUT)) REALWORLD_MIRROR=$(abspath $(MIRROR_OF_PROVIDERS)) \
		testing/services/run.sh postgres,bind go test -count=1 -v ./testing/realworld

pictures: build
	go run ./testing/pictures -bin bin/tofu -to docs/pictures
	cd testing/browser && go test -run Pictures . -args -pictures=$(CURDIR)/docs/pictures

# The services that tests need, into build/services: commands of the Go module in testing/services and
# packages from npm. testing/services/run.sh starts them.
SERVICES := build/services
services: $(SERVICES)/bin $(if $(shell command -v npm),$(SERVICES)/node_modules)
$(SERVICES)/bin: testing/services/go.mod testing/services/go.sum
	@mkdir -p $@
	go -C testing/services build -o $(CURDIR)/$@/ tool
	@touch $@
$(SERVICES)/node_modules: testing/services/package.json testing/services/package-lock.json
	@mkdir -p $(SERVICES)
	cp testing/services/package.json testing/services/package-lock.json $(SERVICES)
	npm ci --prefix $(SERVICES) --ignore-scripts --no-audit --no-fund
	@touch $@

# Services that take minutes to build, each a Go module of its own. They are only for `make backends`.
services-heavy: $(SERVICES)/bin/consul $(SERVICES)/bin/kube-apiserver
$(SERVICES)/bin/consul: testing/services/consul/go.mod testing/services/consul/go.sum
	go -C testing/services/consul build -o $(CURDIR)/$@ github.com/hashicorp/consul
$(SERVICES)/bin/kube-apiserver: testing/services/kubernetes/go.mod testing/services/kubernetes/go.sum
	go -C testing/services/kubernetes build -o $(CURDIR)/$@ k8s.io/kubernetes/cmd/kube-apiserver
.PHONY: services-heavy

# Tests the backends and key providers with all services. Tests without their service say so.
backends: build providers services
	testing/services/run.sh all $(MAKE) -s backend-tests
.PHONY: backend-tests
backend-tests:
	go test -v -count=1 ./internal/backend/... ./internal/encryption/... > build/backends.log || \
		{ grep -vE '^(=== |--- PASS|    --- PASS)' build/backends.log; exit 1; }
	@sed -n 's|^ *[a-z0-9_]*.go:[0-9]*: \(.*testing/services/run.sh.*\)|not run: \1|p' build/backends.log | sort -u
	go test -run 'TestScript/.*(backend|encryption)|TestMigration' ./cmd/tofu

# Random histories of concurrent runs in PostgreSQL. HISTORY_SEED repeats those of another run.
HISTORIES ?= 10000
HISTORY_SEED ?= 0
histories:
	REQUIRE_SERVICES=1 go test -count=1 -timeout 0 -v -run TestHistories ./internal/backend/postgres \
		-args -histories=$(HISTORIES) -seed=$(HISTORY_SEED) -groups=12

# Packages with concurrent code. The race detector needs cgo.
RACE := ./internal/dag/... ./internal/engine/... ./internal/plugin/... ./internal/states/...
race: providers
	CGO_ENABLED=1 go test -race $(RACE)

# Rewrites golden files with the present results. Read the diff before committing it.
golden: providers
	@for dir in $$(git grep -lE 'testenv\.Golden(Text)?\(' -- '*_test.go' | xargs -r -n1 dirname | sort -u); do \
		go test ./$$dir -update; \
	done

# Runs the Go benchmarks that match BENCH, COUNT times each. BASE=REF compares with that commit.
BENCH ?= .
COUNT ?= 6
BENCH_RUN = go test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) ./...
bench: providers
	@mkdir -p build/bench
	$(BENCH_RUN) | tee build/bench/new.txt
ifdef BASE
	git worktree add --force --detach build/bench/tree $(BASE)
	trap 'git worktree remove --force build/bench/tree' EXIT; \
	(cd build/bench/tree && $(BENCH_RUN)) > build/bench/old.txt
	$(BENCHSTAT) build/bench/old.txt build/bench/new.txt
else
	$(BENCHSTAT) build/bench/new.txt
endif

# Measures how whole commands grow with size, and fails if an exponent exceeds GATE. REF=BIN measures a
# second binary too.
GATE ?= 1.3
SHAPES ?= all
SIZES ?= 1000,8000
scale: build providers
	go run ./testing/bench -bin bin/tofu $(if $(REF),-ref $(REF)) -mirror $(MIRROR) -shapes $(SHAPES) -sizes $(SIZES) -gate $(GATE)

# Edits with a warm core: random ones, whose answers must equal those of a cold one, the edits of a working
# day, and the time of an edit among 10,000 instances.
EDITS ?= 1000
SOAK ?= 14400
warm: providers
	EDITS=$(EDITS) SOAK=$(SOAK) go test ./internal/warm -v -timeout 1h -run 'TestColdAndWarm$$|TestSoak' -bench Edit -benchtime 20x

# Measures reading: plans of one change behind a slow provider, a full refresh behind one that refuses
# calls, and drift of many root modules, in a quarter of an hour.
OBJECTS ?= 10000
refreshing: build providers
	go run ./testing/bench -bin bin/tofu $(if $(REF),-ref $(REF)) -mirror $(MIRROR) -refresh -sizes $(OBJECTS) -timeout 20m

# Measures adopting OBJECTS objects, also by root modules that share them, and the division of a root module.
adopting: build providers
	go run ./testing/bench -bin bin/tofu -mirror $(MIRROR) -adopt -sizes $(OBJECTS)

# Measures the figures of docs/PERFORMANCE.md and writes them into that file, in half an hour. REF is
# the program to compare with. PARTS="side growth" measures only some.
performance: build providers
	REF='$(REF)' PARTS='$(PARTS)' MIRROR=$(MIRROR) testing/bench/performance.sh

# Runs every fuzz target for T. Targets with servers or files never have quite the same coverage
# twice, so that making inputs smaller would take nearly all of the time.
T ?= 1m
fuzz:
	@for dir in $$(git grep -lE '^func Fuzz' -- '*_test.go' | xargs -r -n1 dirname | sort -u); do \
		for target in $$(go test -list '^Fuzz' ./$$dir | grep '^Fuzz'); do \
			echo "== $$dir $$target"; go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(T) -fuzzminimizetime 10x ./$$dir; \
		done; \
	done

# Injects faults into applies and counts lost objects: signals and faults of PostgreSQL at random times
# (RUNS of each), and a kill, a full disk or a failing state server at every EVERYth possible point,
# beginning with FROM.
RUNS ?= 5
EVERY ?= 1
FROM ?= 0
KINDS ?= signals,calls,space,requests,stores,postgres
faults: build providers
	go run ./testing/faults -bin bin/tofu -mirror $(MIRROR) -kinds $(KINDS) -runs $(RUNS) -every $(EVERY) -from $(FROM)

# Measures runs over workers and kills workers at random, with a PostgreSQL of its own.
ROOTS ?= 500
WORKER_KILLS ?= 50
queue: build
	testing/services/run.sh postgres go run ./testing/queue -bin bin/tofu -roots $(ROOTS) -kills $(WORKER_KILLS)

# Compiles for systems on which no tests run.
cross:
	for os in darwin windows; do for module in . testing/providers testing/browser testing/clients release; do \
		echo "== $$os $$module"; cd $(CURDIR)/$$module; \
		GOOS=$$os go build ./...; GOOS=$$os go vet ./...; \
	done; done

clean:
	rm -rf bin build
