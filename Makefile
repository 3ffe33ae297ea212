# Two commands do everything on a fresh Debian 12: `make run` and `make test`.

.PHONY: install uninstall package run build test test-long bench-check mutants fuzz deps debug mingw format check-format clean

build: deps
	cmake --preset release $(WHOLE)
	cmake --build --preset release

# Builds the program alone, and needs nothing that is for tests.
run:
	@DRYDOCK_DEPS=run scripts/install-deps.sh
	cmake --preset release
	cmake --build --preset release --target drydock
	build/release/drydock run cases/main.case --model both

# The tests of every day: with sanitizers, and in the release build what they make many times slower
# (cmake/test-times.cmake). Both are built before either is played.
test: deps check-format
	cmake --preset sanitizers
	cmake --build --preset sanitizers
	cmake --preset release
	cmake --build --preset release
	ctest --preset sanitizers -j 2
	ctest --preset every-day-release -j 2

# Every test with sanitizers, what installs for others and a million moves in the release build, then the figures of
# bench-check: an hour on two processors that do nothing else.
test-long: deps
	cmake --preset sanitizers
	cmake --build --preset sanitizers
	cmake --preset release
	cmake --build --preset release
	ctest --preset long -j 2
	ctest --preset long-release -j 2
	$(MAKE) bench-check

debug: deps
	cmake --preset debug
	cmake --build --preset debug

# Fails when a figure that is measured beside a peer is worse than its bound by more than its spread.
bench-check: build
	build/release/drydock bench --quick --bounds tests/bench/bounds.tsv

# Plants small mistakes in the sources and tells which of them the tests find: seconds each, minutes for one that lives.
# MUTANTS="--count 20 --seed 7" tries others (scripts/mutants.sh --help).
mutants: deps
	scripts/mutants.sh $(MUTANTS)

# Runs each fuzz target for a minute; FUZZ="--seconds 86400" for a day (scripts/fuzz.sh --help).
fuzz: deps
	scripts/fuzz.sh $(FUZZ)

# libvidmm alone for Windows: it depends on nothing but the compiler.
mingw: deps
	cmake --preset mingw
	cmake --build --preset mingw

deps:
	@scripts/install-deps.sh

format:
	scripts/check-format.sh --mend

check-format: deps
	scripts/check-format.sh

install: build
	cmake --install build/release $(if $(PREFIX),--prefix $(PREFIX))

# Debian packages and an archive of an installed tree, in build/packages (cmake/part-package.cmake). The program in
# them is optimised as a whole.
package: WHOLE = -DDRYDOCK_WHOLE_PROGRAM=ON
package: build
	cpack --config build/release/CPackConfig.cmake
	rm -rf build/packages/_CPack_Packages

# What `make install` put there, by its list; folders of Drydock's own go when they are empty.
uninstall:
	@test -f build/release/install_manifest.txt || { echo "uninstall: nothing was installed from here" >&2; exit 2; }
	@tr -d '\r' <build/release/install_manifest.txt | while read -r file || [ -n "$$file" ]; do \
	    rm -f "$(DESTDIR)$$file"; \
	    folder=$$(dirname "$$file"); \
	    while case $$folder in *drydock* | *Drydock* | *vidmm*) true ;; *) false ;; esac && \
	        rmdir "$(DESTDIR)$$folder" 2>/dev/null; do folder=$$(dirname "$$folder"); done; \
	done
	@rm build/release/install_manifest.txt

clean:
	rm -rf build
