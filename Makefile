# Every target is plain go commands that can be typed by hand. `make ci` is what .ci/run runs.
#
#   make build   the binary, ./furlong
#   make test    all tests; a few minutes on two cores
#   make race    the same under the race detector, where anything runs beside anything else; needs a C compiler
#   make fmt     rewrites files in gofumpt's form
#   make lint    vet, staticcheck, golangci-lint; builds them the first time, about three minutes
#   make generated  checks that committed assembly is what its generator writes; that is a module of its own
#   make fuzz    every fuzz test for FUZZTIME each
#   make bench   every benchmark once; for a comparison see CONTRIBUTING.md
#   make performance  the figures and the plot of docs/performance.md; minutes, for a quiet machine
#   make slow    the tests that take long: more seeds, more sizes, longer runs
#   make docs    what the documentation promises: examples run, links lead somewhere, every package has its page
#   make browser the dashboard's pages in headless Chromium; skipped where there is none. Pictures are left in dash/browser/screenshots
#   make torch   the tests that compare with PyTorch; skipped where there is none
#   make static  build, format, generated, vet and lint
#   make ci      static, test, race, and a short run of the default recipe

GO       ?= go
PKG      ?= ./...
FUZZTIME ?= 10s
TOOL     := $(GO) tool -modfile=tools/go.mod

# One form of every package serves the binary, its tests, the linters and any clone, so that it is compiled once.
export CGO_ENABLED ?= 0
export GOFLAGS := $(strip $(shell $(GO) env GOFLAGS) -trimpath)

.PHONY: build test race vet format fmt lint generated fuzz bench performance slow docs browser torch ci static size smoke
.DEFAULT_GOAL := build

build:
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w" -o furlong ./cmd/furlong

# The program's tests take minutes; beside other work on two cores they come near to go test's ten.
test:
	$(GO) test -timeout 20m $(PKG)

# Left out are packages where nothing runs beside anything else, in them, their tests and what these import, which race_test.go holds the list to; what computes
# for long and starts no goroutine of its own; the program's tests, which start it again and again; and the house rules.
QUIET := api/openai api/sglang chat checkpoint checkpoint/convert checkpoint/hf checkpoint/safetensors config dash/api dash/page data/arithmetic data/rows dtype \
	figure figure/raster internal/script kernels/ref kv launchline layout metrics metrics/disk metrics/rollouts metrics/samples metrics/tensorboard metrics/trend \
	nearest progress reward/mathexpr reward/published rl rollout/sample rollout/sched starter summary tensor train/loss
LONG := cmd/furlong oracle ops kernels/kerneltest model/dsv4 parity/diverge parity/suspect parity/paritytest parity/taps

race:
	@set -e; all=$$($(GO) list $(PKG)); \
	some=$$(echo "$$all" | grep -v -x -F -e furlong $(patsubst %,-e furlong/%,$(QUIET) $(LONG))) || { echo "nothing here runs beside anything else"; exit 0; }; \
	CGO_ENABLED=1 $(GO) test -timeout 20m -race -short $$some

vet:
	$(GO) vet $(PKG)

# gofmt prints the names of files that it would change; any is a failure.
format:
	@files=$$(gofmt -l $$(git ls-files '*.go')); \
	if [ -n "$$files" ]; then echo "not in gofmt's form:"; echo "$$files"; exit 1; fi

fmt:
	$(TOOL) gofumpt -modpath furlong -l -w $$(git ls-files '*.go')

# Both hold the whole program in memory, which is there: it need not be swept all the time.
lint: vet
	GOGC=300 $(TOOL) staticcheck $(PKG)
	GOGC=300 $(TOOL) golangci-lint run $(PKG)

generated:
	$(GO) test -C kernels/cpu/asm/gen .

# go test takes one fuzz test at a time. Minimising what is merely interesting is not worth its minute.
fuzz:
	@set -e; for p in $$($(GO) list $(PKG)); do \
	  for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz' || true); do \
	    echo "fuzz $$p $$f"; \
	    $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1x $$p; \
	  done; \
	done

bench:
	$(GO) test -run '^$$' -bench . -benchmem $(PKG)

# The binary records the revision that was measured. The last step needs OpenBLAS, and fails without it.
performance:
	CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=true -o furlong ./cmd/furlong
	./furlong bench --work generate score train growth memory --page docs/performance.md --plot docs/growth.svg
	sh bench/openblas.sh docs/performance.md

slow:
	$(GO) test -count=1 -tags slow -timeout 2h $(PKG)

docs:
	$(GO) test -run '^Example|^TestHouse$$|^TestLinks$$' $(PKG)

# A module of its own. One test at a time: all have one browser, each has a server, and pages are to be quick.
browser:
	cd dash/browser && $(GO) vet . && $(GO) test -count=1 -timeout 40m -p 1 .

# What compares with the PyTorch reference, where FURLONG_TEST_TORCH_PYTHON names a Python that has it.
torch:
	$(GO) test -count=1 -timeout 20m -run Torch ./remote/transformers ./cmd/furlong

# The binary has a ceiling, so that nothing large slips into it.
size: build
	@bytes=$$(wc -c < furlong); echo "furlong: $$bytes bytes, at most 41943040"; [ $$bytes -le 41943040 ]

# What a new user types first must work in a fresh clone, in a short form.
smoke:
	bash .ci/smoke

# What looks at the code without running it, and the quick rest.
static: size format generated lint

ci: static test race smoke
