# Every target is plain go commands that can be typed by hand. `make ci` is what .ci/run runs.
#
#   make build   the binary, ./furlong
#   make test    all tests; a few minutes on two cores
#   make race    the same under the race detector, with the invariants checked; needs a C compiler
#   make fmt     rewrites files in gofumpt's form
#   make lint    vet, staticcheck, golangci-lint; builds them the first time, about three minutes
#   make generated  checks that committed assembly is what its generator writes; that is a module of its own
#   make fuzz    every fuzz test for FUZZTIME each
#   make bench   every benchmark once; for a comparison see CONTRIBUTING.md
#   make performance  the figures and the plot of docs/performance.md; minutes, for a quiet machine
#   make slow    the tests that take long: more seeds, more sizes, longer runs
#   make docs    what the documentation promises: examples run, links lead somewhere, every package has its page
#   make browser the dashboard's pages in headless Chromium; skipped where there is none. Pictures go to FURLONG_TEST_SCREENSHOTS
#   make ci      build, format, vet, test, generated, lint, race, and a short run of the default recipe

GO       ?= go
PKG      ?= ./...
FUZZTIME ?= 10s
TOOL     := $(GO) tool -modfile=tools/go.mod

.PHONY: build test race vet format fmt lint generated fuzz bench performance slow docs browser ci size smoke
.DEFAULT_GOAL := build

build:
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w" -o furlong ./cmd/furlong

# The program's tests take minutes; beside other work on two cores they come near to go test's ten.
test:
	$(GO) test -timeout 20m $(PKG)

# Left out: what computes for long and starts no goroutine of its own, and the program's tests, which start it again and again.
race:
	CGO_ENABLED=1 $(GO) test -timeout 20m -race -short -tags invariants $$($(GO) list $(PKG) | grep -v -E '/(cmd/furlong|oracle|ops|kernels/ref|kernels/kerneltest|model/dsv4|parity/(diverge|suspect|paritytest))$$')

vet:
	$(GO) vet $(PKG)

# gofmt prints the names of files that it would change; any is a failure.
format:
	@files=$$(gofmt -l $$(git ls-files '*.go')); \
	if [ -n "$$files" ]; then echo "not in gofmt's form:"; echo "$$files"; exit 1; fi

fmt:
	$(TOOL) gofumpt -modpath furlong -l -w $$(git ls-files '*.go')

lint: vet
	$(TOOL) staticcheck $(PKG)
	$(TOOL) golangci-lint run $(PKG)

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

# A module of its own. One test at a time: each has a browser and a server, and pages are to be quick.
browser:
	cd dash/browser && $(GO) vet . && $(GO) test -count=1 -timeout 40m -p 1 .

# The binary has a ceiling, so that nothing large slips into it.
size: build
	@bytes=$$(wc -c < furlong); echo "furlong: $$bytes bytes, at most 41943040"; [ $$bytes -le 41943040 ]

# What a new user types first must work in a fresh clone, in a short form.
smoke:
	bash .ci/smoke

ci: size format vet test generated lint race smoke
