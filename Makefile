# Tessera's commands; `make help` lists them. Everything is quick where nothing has changed.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

CORES := $(shell nproc)
JOBS ?= $(CORES)
python := .venv/bin/python
export PATH := $(CURDIR)/.venv/bin:$(PATH)
export PYTHONPATH := $(CURDIR)/python

sources = $(shell git ls-files --cached --others --exclude-standard 'cpp/*.h' 'cpp/*.cpp' 'python/bindings/*.cpp')

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | awk -F'\t' '{printf "  make %-12s %s\n", $$1, $$2}'

# INSTRUCTION_SETS=host leaves out kernels that this machine's processor can't run, as CI does.
INSTRUCTION_SETS ?= all
# UNITY=ON compiles the files of each folder as one, as CI does.
UNITY ?= OFF
# Those that have unit tests, of the libraries that changed; asked once set-up has installed what asking needs.
changed_libraries = $(filter-out programs drop_in,$(shell scripts/changed libraries))
empty :=
release_options = -DTESSERA_PYTHON=ON -DPython_EXECUTABLE=$(CURDIR)/$(python) \
  -DTESSERA_INSTRUCTION_SETS=$(INSTRUCTION_SETS) -DTESSERA_UNITY=$(UNITY) '-DTESSERA_ASAN=$(subst $(empty) ,;,$(changed_libraries))'

# Where nothing has been built, the engine for this machine alone is enough, in a fraction of the time.
demo_preset = $(if $(wildcard build/release/build.ninja),release,demo)

.PHONY: demo
demo: setup ## prepare DHFR in water (23,558 atoms), run it on all cores, draw the plots
	@scripts/build $(demo_preset) $(if $(filter release,$(demo_preset)),$(release_options)) --target engines
	@TESSERA_BIN=$(CURDIR)/build/$(demo_preset)/bin scripts/demo

.PHONY: setup
setup: ## install what is missing: Debian packages (root or sudo) and .venv
	@scripts/setup

.PHONY: setup-lint
setup-lint:
	@scripts/setup --lint

.PHONY: build
build: setup ## build the engine, the tests and the Python module in build/release
	@scripts/build release $(release_options)

.PHONY: test
test: ## what CI runs: build, lint, clang-tidy, unit tests, sanitizers, parallel tests, documents
	@.ci/run

.PHONY: unit
unit: build ## the unit tests alone
	@ctest --test-dir build/release $(unit_tests) --output-junit $(CURDIR)/build/unit.xml -E '^[at]san\.|_[at]san_NOT_BUILT$$'

# A test that waits for ever is shown with its stack and ends its worker, so that the others still run (HANGS of
# tests/support/programs.py ends what tests start somewhat earlier).
hanging = -o faulthandler_timeout=1000 -o faulthandler_exit_on_timeout=true

.PHONY: pytest
pytest: build ## the Python, parallel and document tests alone; ARGS="-k word" chooses
	@$(python) -m pytest -m "not slow" $(hanging) $(ARGS)

.PHONY: arm
arm: ## build for aarch64 in build/arm, on a Debian machine with another processor
	@scripts/arm $(ARGS)

.PHONY: check-long
check-long: setup ## a part of the long campaign (PART=physics, one or two hours); without PART lists the parts
	@$(python) -m tests.campaigns $(PART)

.PHONY: lint-quick
lint-quick: setup-lint
	@scripts/lint --quick

.PHONY: tidy-changed
tidy-changed: setup-lint ## clang-tidy over the files changed last, as CI does
	@scripts/tidy --changed

.PHONY: lint
lint: setup-lint ## house rules, formatting, ruff, mypy, clang-tidy; says all that is wrong
	@scripts/lint

.PHONY: format
format: setup-lint ## put every source file into the house format
	@clang-format-14 -i $(sources)
	@ruff check --fix --quiet . || true
	@ruff format --quiet .

# No unit test waits for a time; the limit ends what hangs.
unit_tests = --output-on-failure --timeout 1200 -j $(JOBS)

# Tests that check physics over many steps run in the release build alone: under sanitizers they take long, and they run
# no code that shorter tests leave out.
long_physics = Engine.(ConservesEnergy|RunsBackwards|EnergyErrorIs|KeepsMomentum|RigidWaters|EnergiesDoNot|GeneratesVel|ForcesAreMinus)
long_physics := $(long_physics)|ConserveWhatTheySay

.PHONY: asan
asan: setup ## unit tests with everything under the address and undefined-behaviour sanitizers
	@scripts/build asan --target unit_tests
	@ctest --test-dir build/asan $(unit_tests) -E "$(long_physics)"

.PHONY: tsan
tsan: setup ## unit tests with everything under the thread sanitizer
	@scripts/build tsan --target unit_tests
	@scripts/without-aslr ctest --test-dir build/tsan $(unit_tests) -E "$(long_physics)"

# CI leaves out what takes longest under sanitizers and runs the code of shorter tests: plans for tens of thousands of
# ranks or many switches, long minimisations and differences, what memory is planned, and baths and rules of which other
# samples remain.
large_plans = SixtyFiveThousand|FourThousand|LargeMachines|EveryRankCountUpTo|SplitByLoad.Switches
long_samples = Minimize.ConvergesAsFar|GroupScalingVirial.IsTheDerivative|md.Memory.
long_samples := $(long_samples)|AllBaths.*/(nose_hoover|langevin|berendsen|mtk_constant_area|monte_carlo_isotropic)( |$$)
long_samples := $(long_samples)|PairSums.(Geometric|LorentzBerthelotWithNbfix)$$

.PHONY: asan-quick
asan-quick: build ## unit tests of the libraries that changed, under these sanitizers, as CI does
	@$(if $(changed_libraries),scripts/build release $(release_options) $(changed_libraries:%=--target %_test_asan))
	@$(if $(changed_libraries),ctest --test-dir build/release $(unit_tests) --output-junit $(CURDIR)/build/asan.xml \
	  -R '^asan\.' -E "$(long_physics)|$(large_plans)|$(long_samples)",echo "no library has changed")

# Tests in which several threads share memory: the thread pool and the shares of work, ranks that are threads of one
# process (comm, fft, engine), and the pair list, pair sum, mesh and engine on several threads.
threaded_libraries = $(filter base comm fft grid md pair_schemes,$(changed_libraries))
threaded_tests := base\..*ThreadPool|comm\..*(Follow|RankLine)|fft\.Fft(Ranks|Trial|Agree)|grid\.Grid(Operator|Transfer|Relax)
threaded_tests := $(threaded_tests)|pair_schemes\..*WhoeverSums|md\.Shares|md\.(Pme|PairSums|Engine)\..*(Threads|Ranks)|md\..*PairList|md\.(Domain|SlotMap|State)\.

.PHONY: tsan-quick
tsan-quick: build ## unit tests of the libraries that changed and run on several threads, under it, as CI does
	@$(if $(threaded_libraries),scripts/build release $(release_options) $(threaded_libraries:%=--target %_test_tsan))
	@$(if $(threaded_libraries),scripts/without-aslr ctest --test-dir build/release $(unit_tests) \
	  --output-junit $(CURDIR)/build/tsan.xml -R '^tsan\.($(threaded_tests))' -E "$(long_physics)",echo "no library has changed that runs on several threads")

.PHONY: base
base: ## note in .ci/base the commit that passed CI last, origin/main or BASE=commit; CI tests again what changed since
	@commit=$$(git rev-parse --verify --quiet "$(or $(BASE),origin/main)^{commit}") || \
	  { echo "make base: there is no commit $(or $(BASE),origin/main); say which passed CI last: make base BASE=commit" >&2; exit 1; }; \
	  echo $$commit >.ci/base
	@scripts/changed

.PHONY: docs
docs: build ## run every code block of README and docs
	@$(python) -m pytest tests/docs $(ARGS)

.PHONY: wheel
wheel: setup ## make dist/tessera_md-*.whl, a package for any Linux with glibc 2.34, Python 3.11 and any MPI; ARGS=aarch64
	@INSTRUCTION_SETS="$(INSTRUCTION_SETS)" scripts/wheel $(ARGS)

.PHONY: site
site: setup ## build the site of docs/ in build/site; a broken link is an error
	@NO_MKDOCS_2_WARNING=1 $(python) -m mkdocs build --strict --quiet
	@echo "build/site/index.html"

.PHONY: reference
reference: build ## write docs/reference from the programs
	@$(python) scripts/reference

.PHONY: lock
lock: ## write requirements.lock anew from requirements.in
	@scripts/lock

.PHONY: clean
clean: ## remove what was built (not .venv)
	@rm -rf build dist demo python/tessera/_*.so
