# `make` lists the targets. Nothing but Python 3.11+ (with venv) and make has to be there before.

PYTHON ?= python3
ARGS ?=
NEXT_DATABASES ?= sqlite

PY = .venv/bin/python
PIP = -m pip --disable-pip-version-check --quiet install --require-hashes
LOCK = .venv/bin/uv pip compile --quiet --universal --generate-hashes --custom-compile-command "make lock" \
	$(if $(UPGRADE),--upgrade) pyproject.toml
# Nothing from this shell: the example has to be complete, but for its secret.
PRODUCTION_EXAMPLE = env -i PATH="$$PATH" OUTBOX_ENV_FILE=.env.example \
	SECRET_KEY="$$($(PY) -c 'import secrets; print(secrets.token_urlsafe(50))')"

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup mysql demo test check lock test-next clean

help:  ## Lists the targets
	@sed -n 's/^\([a-z-]*\):.*  ## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-18s %s\n", $$1, $$2 }'

setup: .venv/dev.stamp mysql  ## Sets up .venv with everything that development and tests need

demo: .venv/runtime.stamp  ## Runs the demonstration; ONCE=1 runs it to its end and leaves nothing running
	$(PY) -m examples.demo $(if $(ONCE),--once) $(ARGS)

test: setup  ## Runs the suite on SQLite, PostgreSQL and MariaDB; ARGS="--only sqlite -k lease" narrows it
	$(PY) -m tests.everywhere $(ARGS)

check: setup  ## Checks format, lint, types, imports, migrations and the production example
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy
	.venv/bin/lint-imports --no-logo
	DJANGO_SETTINGS_MODULE=tests.settings DATABASE_URL=sqlite:///.venv/check.sqlite3 $(PY) manage.py makemigrations --check --dry-run
	$(PRODUCTION_EXAMPLE) $(PY) manage.py check --deploy --fail-level WARNING

lock: .venv/bin/uv  ## Makes the locked requirements again; UPGRADE=1 takes newer releases
	$(LOCK) --python-version 3.11 --constraint requirements/django52.in -o requirements.txt
	$(LOCK) --python-version 3.11 --constraint requirements.txt --extra dev -o requirements/dev.txt
	$(LOCK) --python-version 3.11 --constraint requirements.txt --extra mysql -o requirements/mysql.txt
	$(LOCK) --python-version 3.13 --constraint requirements/django61.in --extra dev -o requirements/dev-django61.txt

test-next:  ## Runs the suite on Django 6.1 and Python 3.13, where that interpreter exists
	@if python=$$(.ci/find-python 3.13); then $(MAKE) --no-print-directory run-next NEXT_PYTHON="$$python"; \
	else echo "test-next: skipped: no Python 3.13 which runs and can make a virtual environment"; fi

clean:  ## Removes environments, caches and the demonstration's state; no database of yours
	rm -rf .venv .venv-next .demo staticfiles build .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# --- What the targets above stand on

.PHONY: run-next
run-next: .venv-next/dev.stamp
	.venv-next/bin/python -m tests.everywhere --only $(NEXT_DATABASES) $(ARGS)

# A failed venv leaves a folder without pip behind, which the next try would take for whole.
.venv/bin/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -m venv .venv || { rm -rf .venv; \
		echo "$(PYTHON) cannot make a virtual environment. On Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }

# Not the stamp: a lock file that cannot be installed any more has to be made again without being installed.
.venv/bin/uv:
	$(MAKE) .venv/dev.stamp

.venv/runtime.stamp: requirements.txt | .venv/bin/pip
	$(PY) $(PIP) -r requirements.txt
	@touch $@

.venv/dev.stamp: requirements/dev.txt | .venv/bin/pip
	$(PY) $(PIP) -r requirements/dev.txt
	@touch $@ .venv/runtime.stamp

.venv-next/dev.stamp: requirements/dev-django61.txt
	@test -x .venv-next/bin/pip || { rm -rf .venv-next; "$(NEXT_PYTHON)" -m venv .venv-next; }
	.venv-next/bin/python $(PIP) -r requirements/dev-django61.txt
	@touch $@

# mysqlclient is compiled: where that cannot be, everything but MySQL and MariaDB works, so this never fails.
mysql: .venv/dev.stamp
	@test .venv/mysql.stamp -nt requirements/mysql.txt || \
		{ $(PY) $(PIP) -r requirements/mysql.txt > .venv/mysql.log 2>&1 && touch .venv/mysql.stamp; } || \
		{ echo "MySQL and MariaDB are left out: mysqlclient cannot be built (.venv/mysql.log says why)."; \
		echo "On Debian and Ubuntu: apt-get install gcc pkg-config python3-dev default-libmysqlclient-dev"; }
