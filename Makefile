# Each target sets up all it needs: see anex/bootstrap. Another Python: make demo PYTHON=python3.12
RUN = ANEX_PYTHON="$(PYTHON)" exec sh anex/bootstrap/python.sh

.PHONY: $(shell sed -n 's/^\([a-z-]*\):.*/\1/p' $(firstword $(MAKEFILE_LIST)))

help:
	@echo "make demo          start everything and run a job; ARGS=--once stops afterwards, ARGS=\"--port 9000\" moves it"
	@echo "make test          all tests on embedded services; ARGS passes options to pytest"
	@echo "make test-full     the same with all that the long ones can do: more jobs, kills, steps and clients"
	@echo "make test-all      the demo, the tests, the fuzzing, the leavers and the clients from clean clones, on every supported Python found"
	@echo "make test-clients  published clients and frameworks against the platform; ARGS names some; part of make test-all"
	@echo "make test-vllm     chat, tools, formats and embeddings on a real vLLM server on the CPU; installs it once, 4 GB"
	@echo "make screenshots   every page in both themes and on a phone, into var/screenshots"
	@echo "make fuzz          made-up and hostile requests against the APIs; part of make test-all"
	@echo "make fuzz-parsers  a million made-up rows, content parts and media headers"
	@echo "make hostile       sixty hostile requests to every route, an hour; HOSTILE=20 fewer, ROUTES=keys to some"
	@echo "make explore       new examples for every property test; the suite tries the same ones every time"
	@echo "make leavers       10,000 realtime requests whose clients leave anywhere; part of make test-all"
	@echo "make lint          ruff, mypy --strict, import contracts"
	@echo "make audit         asks a database of advisories about what is installed; says so where none is reachable"
	@echo "make format        let ruff format and mend the code"
	@echo "make migrations    write missing migrations"
	@echo "make styles        build static/console/console.css from anex/console/styles; needs npm, as nothing else does"
	@echo "make bench-pages   the console of a large customer: time of the server and bytes of each page"
	@echo "make bench-memory  a million rows through the pipeline; memory of each process"
	@echo "make bench-estimate  3,000 simulated jobs; how often cap, thinking budget and usual cost hold"
	@echo "make bench-parquet  a million rows of parquet to lines and back; memory of the child"
	@echo "make bench-admission  realtime requests admitted and settled; CPU of both processes"
	@echo "make bench-validate  1 GiB of chat rows and 10 M embedding rows are checked; SCALE=0.1 makes smaller files"
	@echo "make bench-upload  files of 1 GiB are uploaded and checked line by line; SCALE=0.1 makes smaller files"
	@echo "make bench-requests  what it takes to read a realtime request and to pass on a chunk of an answer"
	@echo "make bench-gateway  the whole gateway beside LiteLLM's proxy, vllm-router and the bare model server; needs rustc"
	@echo "make bench-batch   jobs through the whole pipeline beside a bare loop over the same file; needs rustc"
	@echo "make bench-scale   jobs of growing size, up to 10 M rows where asked: what a row costs, memory; needs rustc"
	@echo "make bench-beside  ten rows beside a job of 100,000 of another organization; needs rustc"
	@echo "make bench-finalize  results of up to 10 M rows where asked are put together; time and memory of the process"
	@echo "make chaos         twenty times three jobs of 20,000 rows while everything they need fails; ARGS=\"--seeds 1\""
	@echo "make restarts      web processes, workers and the scheduler are replaced under load: no request fails; ARGS=\"--rounds 10\""
	@echo "make outages       Postgres, Valkey and the store away for 30 s each, in three ways, while every surface is used"
	@echo "make regions       two regions on local disks and in two buckets: what one keeps is nowhere else; a minute or two"
	@echo "make upgrade-check  the last release's tests on this schema; ARGS=\"--from REF\" names another, ARGS=--all runs more"
	@echo "make bench-holds   200 threads spend one balance; how long a hold takes"

demo:
	@$(RUN) app -m anex.supervisor $(ARGS)

test:
	@$(RUN) dev -m pytest -n auto --maxprocesses 4 --dist worksteal $(ARGS)

test-full:
	@ANEX_TEST_SIZE=full $(RUN) dev -m pytest -n auto --maxprocesses 4 --dist worksteal $(ARGS)

test-all:
	@echo "Clones this repository into a temporary folder once per Python found (3.11, 3.12, 3.13), installs the"
	@echo "requirements there (about 1 GB each, removed afterwards), runs 'make demo ARGS=--once', 'make test' and 'make fuzz'"
	@echo "in each, and 'make test-clients' in the first."
	@$(RUN) dev tests/clean_clones.py $(ARGS)

test-clients:
	@$(RUN) dev -m tests.clients $(ARGS)

test-vllm:
	@$(RUN) dev -m tests.vllm.environment
	@$(RUN) dev -m pytest tests/vllm $(ARGS)

screenshots:
	@$(RUN) dev -m pytest -s tests/browser/screenshots.py $(ARGS)

fuzz:
	@$(RUN) dev tests/contract/fuzz.py $(ARGS)

fuzz-parsers:
	@$(RUN) dev tests/fuzz/parsers.py $(ARGS)

hostile:
	@ANEX_TEST_HOSTILE="$(or $(HOSTILE),60)" ANEX_TEST_HOSTILE_ROUTES="$(ROUTES)" $(RUN) dev -m pytest -s tests/hostile $(ARGS)

explore:
	@$(RUN) dev -m pytest -n auto --maxprocesses 4 -m hypothesis --hypothesis-profile explore $(ARGS)

leavers:
	@ANEX_TEST_LEAVERS=10000 $(RUN) dev -m pytest -s tests/realtime/test_leaving_clients.py $(ARGS)

lint:
	@$(RUN) dev -m ruff check .
	@$(RUN) dev -m ruff format --check .
	@$(RUN) dev -m mypy
	@$(RUN) dev -c "from importlinter.cli import lint_imports_command; lint_imports_command()"

audit:
	@$(RUN) dev -m anex.bootstrap.audit $(ARGS)

format:
	@$(RUN) dev -m ruff check --fix .
	@$(RUN) dev -m ruff format .

migrations:
	@$(RUN) dev manage.py makemigrations $(ARGS)

styles: anex/console/styles/node_modules
	@cd anex/console/styles && npm run --silent build

anex/console/styles/node_modules: anex/console/styles/package-lock.json
	@cd anex/console/styles && npm ci --silent && touch node_modules

bench-pages:
	@$(RUN) dev -m pytest -s tests/browser/bench_pages.py $(ARGS)

bench-memory:
	@$(RUN) dev tests/bench/memory.py $(ARGS)

bench-holds:
	@$(RUN) dev -m tests.bench.holds $(ARGS)

bench-requests:
	@$(RUN) dev -m tests.bench.requests $(ARGS)

bench-gateway:
	@$(RUN) dev -m tests.bench.gateway $(ARGS)

bench-batch:
	@$(RUN) dev -m tests.bench.batch $(ARGS)

bench-scale:
	@$(RUN) dev -m tests.bench.batch.scale $(ARGS)

bench-beside:
	@$(RUN) dev -m tests.bench.batch.beside $(ARGS)

bench-finalize:
	@$(RUN) dev -m tests.bench.finalize $(ARGS)

chaos:
	@$(RUN) dev -m tests.faults.chaos $(ARGS)

restarts:
	@$(RUN) dev -m tests.faults.restarts $(ARGS)

outages:
	@$(RUN) dev -m tests.faults.outages $(ARGS)

regions:
	@ANEX_TEST_REGIONS=all $(RUN) dev -m pytest tests/flows/test_two_regions.py $(ARGS)

upgrade-check:
	@$(RUN) dev -m tests.upgrade $(ARGS)

bench-admission:
	@$(RUN) dev -m tests.bench.admission $(ARGS)

bench-parquet:
	@$(RUN) dev -m tests.bench.parquet $(ARGS)

bench-estimate:
	@$(RUN) dev tests/bench/estimate.py $(ARGS)

bench-validate:
	@$(RUN) dev -m tests.bench.validate $(ARGS)

bench-upload:
	@$(RUN) dev -m tests.bench.upload $(ARGS)
