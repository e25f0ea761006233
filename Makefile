# The commands of a working day. `make test` needs nothing prepared: it fetches, builds and tests.

PRESET ?= dev
JOBS ?= $(shell nproc)
BUILD := build/$(PRESET)
PYTHON := .deps/venv/bin/python
CXX_FILES = git ls-files --cached --others --exclude-standard -- '*.h' '*.cc' | xargs -r ls -d 2>/dev/null

# One build at a time per build folder: Ninja itself does not look. Second argument: --target NAME, or all.
cmake_build = mkdir -p build && flock build/$(1).lock sh -c \
  'cmake --preset $(1) --log-level=WARNING >/dev/null && cmake --build --preset $(1) -j $(JOBS) $(2)'

.PHONY: help deps deps-test deps-full build wheel demo test test-full test-long asan tsan bench bench-query bench-write bench-maintain bench-remote bench-concurrency bench-rollup format format-check lint clean

help:
	@echo 'make deps        fetch pinned dependencies into .deps (also done by the targets below)'
	@echo 'make deps-test   also get the servers that tests of object stores start (takes Go and Node.js)'
	@echo 'make build       build PRESET=$(PRESET) into $(BUILD)'
	@echo 'make wheel       the Python package from a release build, into dist/'
	@echo 'make demo        a first tour'
	@echo 'make test        all suites of the tier "test", each with a time budget'
	@echo 'make test-full   what needs Spark or takes longer'
	@echo 'make test-long   the long simulation'
	@echo 'make asan, tsan  the tier "test" in a sanitizer build'
	@echo 'make bench       micro-benchmarks'
	@echo 'make bench-query the query benchmark against other engines (bench/README.md)'
	@echo 'make bench-write the write benchmark against other engines'
	@echo 'make bench-maintain the maintenance benchmark against the peer'
	@echo 'make bench-remote, bench-concurrency   an object store with latency, and many writers, against the peer'
	@echo 'make bench-rollup the rollup benchmark against the peer'
	@echo 'make format      clang-format on our C++ files'
	@echo 'make lint        include check, format check, clang-tidy'
	@echo 'make clean       remove build/ (keeps .deps)'

deps:
	@tools/deps.sh

# Without its server the tests of object stores are skipped, loudly; with CI set they fail.
deps-test: deps
	@tools/deps.sh test || test -z "$$CI"

deps-full:
	@tools/deps.sh full

build: deps
	@$(call cmake_build,$(PRESET))

# Packs what the preset has built; `pip install .` compiles by itself.
wheel: PRESET = release
wheel: deps
	@$(call cmake_build,$(PRESET),--target timelake_python)
	@TIMELAKE_BUILD_DIR=build/$(PRESET) .deps/python/bin/python -m pip wheel -q --no-build-isolation --no-deps \
	  --disable-pip-version-check -w dist .
	@ls dist/*.whl

demo: build
	@TIMELAKE_BIN=$(CURDIR)/$(BUILD)/timelake tools/demo.sh

test: deps-test build
	@$(PYTHON) tools/run_tests.py tier=test build=$(BUILD)

test-full: deps-full build
	@$(PYTHON) tools/run_tests.py tier=full build=$(BUILD)

test-long: build
	@$(PYTHON) tools/run_tests.py tier=long build=$(BUILD)

asan: deps-test
	@$(call cmake_build,asan-ubsan)
	@$(PYTHON) tools/run_tests.py tier=test build=build/asan-ubsan slack=6

tsan: deps-test
	@$(call cmake_build,tsan)
	@$(PYTHON) tools/run_tests.py tier=test build=build/tsan slack=12

bench: deps
	@$(call cmake_build,bench)
	@set -e; for program in build/bench/bench_*; do [ ! -x $$program ] || $$program; done

bench-query:
	@tools/deps.sh bench
	@$(call cmake_build,release)
	@$(PYTHON) bench/query/run.py build=build/release

bench-write:
	@tools/deps.sh bench
	@$(call cmake_build,release,--target timelake_python)
	@$(PYTHON) bench/write/run.py build=build/release $(if $(DATA),data=$(DATA))

bench-maintain:
	@tools/deps.sh bench
	@$(call cmake_build,release,--target timelake_python)
	@$(call cmake_build,bench,--target simulate_maintenance)
	@$(PYTHON) bench/maintain/run.py build=build/release $(if $(DATA),data=$(DATA))

bench-remote:
	@tools/deps.sh test
	@tools/deps.sh bench
	@$(call cmake_build,release,--target timelake_python)
	@$(PYTHON) bench/remote/run.py build=build/release

bench-concurrency:
	@tools/deps.sh test
	@tools/deps.sh bench
	@$(call cmake_build,release,--target timelake_python)
	@$(PYTHON) bench/concurrency/run.py build=build/release

bench-rollup:
	@tools/deps.sh bench
	@$(call cmake_build,release,--target timelake_python)
	@$(PYTHON) bench/rollup/run.py build=build/release

format:
	@$(CXX_FILES) | xargs -r clang-format-14 -i

format-check:
	@$(CXX_FILES) | xargs -r clang-format-14 --dry-run -Werror

lint: build format-check
	@$(PYTHON) tools/check_includes.py
	@git ls-files -- 'src/*.cc' 'cli/*.cc' | xargs -r -P $(JOBS) -n 1 clang-tidy-14 -p $(BUILD) --quiet

clean:
	rm -rf build
