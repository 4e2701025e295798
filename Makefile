# Needs: JDK 17, Maven (or sbt), Python 3.10+, make.

PYTHON ?= python3
VENV ?= .venv
PY := $(VENV)/bin/python
ROWS ?= 3000000
NAME ?= nfc22
REPEAT ?= 3
SWEEP_ROWS ?= 2000000
POINTS ?=
MUTATIONS ?=
RESUME ?=
QUERIES ?= 500
SF ?= 1
TPCDS ?= all
TPCDS_DUCKDB ?= 1.5.5
TEXTS_JAR ?=
GATE ?=
PACKETS ?= 100000
N ?= 20000
SEED ?= 1

.PHONY: demo bench bench-cold bench-phases tpcds bench-alone bench-lfta bench-lfta-stream bench-tables bench-encodings bench-chooser bench-joins sweep \
  papers papers-smap papers-trees papers-windows papers-lfta test test-long soak test-delta lfta-tools fuzz fuzz-lfta mutate docs-lfta \
  lint-scala test-scala test-python lint jar docs-conf clean help

help:
	@echo "make demo [ROWS=3000000]            the 22 NetFlow reports, plugin off and on"
	@echo "make bench NAME=nfc22|smap4|cube4   times beside plain Spark, DuckDB, Polars, chDB"
	@echo "make bench NAME=distinct4|objects8|subqueries6"
	@echo "                                    DISTINCT, percentiles and sets, subqueries, beside plain Spark"
	@echo "make bench NAME=slide3600|slide86400|sts16|sts64|sts256|sdf256|sds16x16|sds256"
	@echo "                                    windows and predicates, beside plain Spark and DuckDB"
	@echo "make sweep [SWEEP_ROWS=2000000] [POINTS='16@1 64@'] [RESUME=1]"
	@echo "                                    plain Spark and plugin, 2 to 64 sets, coarse to fine"
	@echo "make bench-cold NAME=nfc22|...      each run in a JVM of its own"
	@echo "make bench-phases [NAME=nfc22] [FORM=plugin_union]"
	@echo "                                    where the time of one such run goes, by Java Flight Recorder"
	@echo "make bench-alone                    one tumbling window or one filter, left alone: what looking at them costs"
	@echo "make bench-lfta                     reports from captures and flow exports, beside the same rows as Parquet"
	@echo "make bench-lfta-stream              aggregations over a stream of captures, by the readers and by Spark"
	@echo "make tpcds [SF=1] [TPCDS='q67 q22'] [GATE=1.05] [TEXTS_JAR=jar]"
	@echo "                                    TPC-DS, all queries and variants, plain Spark and plugin by turns"
	@echo "make papers                         the papers' figures and tables, recomputed"
	@echo "make bench-tables [FULL=full]       what a row costs in the tables, beside plain arrays"
	@echo "make bench-chooser                  how long a choice takes"
	@echo "make bench-encodings PARQUET=dir SQL=file"
	@echo "make bench-joins                    LFTAs fed by the code of a join, and by its rows"
	@echo "                                    what a query's blocks weigh, and what encoding them costs"
	@echo "make test                           Scala and Python suites and linters"
	@echo "make test-long                      the same with every combination of settings and ten times the random queries"
	@echo "make soak [QUERIES=500]             different queries in a driver of 1 GiB: what stays in memory"
	@echo "make test-delta                     Delta Lake and the plugin in one session (downloads Delta)"
	@echo "make lfta-tools [PACKETS=100000]    captures and flow exports beside scapy, tshark, softflowd, nfdump, pmacct, tcpreplay"
	@echo "make fuzz [N=20000] [SEED=1]        random queries, plugin off and on; what differs becomes a small PySpark program"
	@echo "make mutate [MUTATIONS='4 9'] [SEED=1]"
	@echo "                                    the plugin made wrong in a copy of the tree: each time a suite has to see it"
	@echo "make fuzz-lfta                      100,000 damaged captures and as many flow exports"
	@echo "make jar | docs-conf | docs-lfta | clean"

# The editable install runs the build hook, which builds the jar.
$(VENV)/.run: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Python 3.10 or newer is needed")'
	test -x $(PY) || $(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --disable-pip-version-check -e '.[spark,data]'
	touch $@

$(VENV)/.dev: $(VENV)/.run
	$(PY) -m pip install --disable-pip-version-check -e '.[spark,bench,plots,dev]'
	touch $@

jar:
	$(PYTHON) python/build_jar.py

demo: $(VENV)/.run jar
	$(PY) -m phantoms.cli.main demo --rows $(ROWS)

bench: $(VENV)/.dev jar
	$(PY) -m phantoms.cli.main bench $(NAME) --repeat $(REPEAT) --json benchmarks/$(NAME).json

sweep: $(VENV)/.dev jar
	$(PY) -m phantoms.cli.main bench sweep --rows $(SWEEP_ROWS) --repeat $(REPEAT) \
	  $(if $(POINTS),--points $(POINTS)) $(if $(RESUME),--resume) \
	  --json benchmarks/results/sweep.json --plot docs/images/sweep.png

# Data comes from DuckDB's extension, 347 MB of Parquet at SF=1, below .data/tpcds; texts from the jar of Spark's own tests,
# which sbt has fetched when the plugin is built. GATE=1.05 fails where a query takes more of plain Spark's time.
tpcds: $(VENV)/.dev jar $(VENV)/tpcds-$(TPCDS_DUCKDB)
	PYTHONPATH=$(VENV)/tpcds-$(TPCDS_DUCKDB) $(PY) -m phantoms.lab.benchmark.tpcds --sf $(SF) --repeat $(REPEAT) --json benchmarks/results/tpcds.json \
	  --texts-jar $(TEXTS_JAR) --queries $(TPCDS) $(if $(GATE),--gate $(GATE))

# The extension is made for one release of DuckDB, which need not be the one that others here are measured against.
$(VENV)/tpcds-$(TPCDS_DUCKDB): $(VENV)/.dev
	$(PY) -m pip install --quiet --disable-pip-version-check --no-deps --target $@ \
	  duckdb==$(TPCDS_DUCKDB) duckdb-extension-tpcds==$(TPCDS_DUCKDB)

# Jobs that run once.
bench-cold: $(VENV)/.dev jar
	$(PY) -m phantoms.cli.main bench $(NAME) --cold --repeat $(REPEAT) --json benchmarks/results/$(NAME)-cold.json \
	  $(if $(FORMS),--forms $(FORMS))

bench-phases: $(VENV)/.dev jar
	$(PY) -m phantoms.lab.benchmark.cold_profile $(NAME) $(or $(FORM),plugin_union)

# Queries that are left alone.
bench-alone: $(VENV)/.dev jar
	$(PY) -m phantoms.lab.benchmark.alone --json benchmarks/results/alone.json

# Random queries, plugin off and on; programs that show differences come into target/fuzz.
fuzz:
	./build/sbt -Dphantoms.fuzz=$(N) -Dphantoms.fuzz.from=$(SEED) "plugin/testOnly *.FuzzSuite"

# Wrong plugins, in a copy of the tree below the temporary folder: 1 if no test sees one of them.
mutate:
	$(PYTHON) build/mutate --seed $(SEED) $(MUTATIONS)

# Captures and flow exports with damage, a hundred thousand of each; make test has 500.
fuzz-lfta:
	./build/sbt -Dphantoms.fuzz.captures=100000 -Dphantoms.fuzz.exports=100000 "plugin/testOnly *CaptureFuzzSuite *ExportFuzzSuite"

# Reports straight from captures and flow exports, beside the same rows as Parquet.
bench-lfta: $(VENV)/.dev jar
	$(PY) -m phantoms.lab.benchmark.captures --repeat $(REPEAT) --json benchmarks/results/lfta.json

# Aggregations over a stream of captures, by the readers and by Spark.
bench-lfta-stream: $(VENV)/.dev jar
	$(PY) -m phantoms.lab.benchmark.streams --repeat $(REPEAT) --json benchmarks/results/lfta-stream.json

# The tables alone, without Spark around them.
bench-tables:
	./build/sbt "bench/Jmh/runMain io.phantoms.spark.bench.TableReport benchmarks/results/tables.json $(FULL)"

# How long a choice takes, by workload and algorithm.
bench-chooser:
	./build/sbt "lab/Test/runMain io.phantoms.spark.lab.times.ChooserTimes benchmarks/results/chooser.json"

# What blocks weigh in several encodings: PARQUET is a data set, SQL a file with a query over the view t.
bench-encodings:
	./build/sbt "bench/runMain io.phantoms.spark.bench.EncodingReport $(PARQUET) $(SQL) benchmarks/results/encodings.json"

# Reports over joins, the LFTA fed by the code of the join's stage and by an iterator.
bench-joins:
	./build/sbt "bench/runMain io.phantoms.spark.bench.JoinReport benchmarks/results/joins.json"

# The papers' examples, tables and figures that need no testbed; docs/papers has them beside the papers' values.
papers: papers-smap papers-trees papers-windows papers-lfta

papers-smap: $(VENV)/.dev
	./build/sbt "lab/Test/runMain io.phantoms.spark.lab.papers.Smap benchmarks/papers/results"
	$(PY) benchmarks/papers/smap.py benchmarks/papers/results docs/images/papers

papers-trees:
	./build/sbt "lab/Test/runMain io.phantoms.spark.lab.trees.PatentReport benchmarks/papers/results/aggregate-trees.json"

papers-windows:
	./build/sbt "lab/Test/runMain io.phantoms.spark.lab.windows.papers.WindowPapers benchmarks/papers/results docs/papers"

papers-lfta:
	./build/sbt "plugin/Test/runMain io.phantoms.spark.source.papers.LftaTables benchmarks/papers/results/lfta-tables.json docs/papers/lfta-tables.md"

# Scala first: it leaves the jar behind that the editable install and the Python tests need.
test: test-scala lint test-python

lint-scala:
	./build/sbt scalafmtCheckAll bench/scalafmtCheck scalafmtSbtCheck

# One sbt for the linter, the tests and the jar; what fails does not keep the others from running.
test-scala:
	rm -rf scala-plugin/*/target/test-reports
	./build/sbt $(SBT_FLAGS) "all plugin/package bench/compile scalafmtCheckAll bench/scalafmtCheck scalafmtSbtCheck test"; \
	  status=$$?; $(PYTHON) build/slowest; exit $$status

# The full product of settings where `make test` takes turns, more random configurations and more random queries.
test-long:
	PHANTOMS_LONG=1 $(MAKE) test SBT_FLAGS="-Dphantoms.matrix.full=true -Dphantoms.configurations=6 -Dphantoms.fuzz=600"

lint: $(VENV)/.dev
	$(VENV)/bin/ruff check python tests examples benchmarks
	$(VENV)/bin/ruff format --check python tests examples benchmarks
	$(VENV)/bin/mypy

# The classes that drivers of the tests load, which then start in half the time.
$(VENV)/classes.jsa: $(VENV)/.dev tests/class_archive.py
	rm -f $@
	$(PY) tests/class_archive.py $@ > $(VENV)/classes.log 2>&1 || echo "no class archive: see $(VENV)/classes.log"

# Most of a test here is one JVM that plans, or starts.
test-python: $(VENV)/.dev jar $(VENV)/classes.jsa
	$(PY) -m pytest --numprocesses=2 --dist=worksteal --durations=20

# Short forms are in the suites: PlanningMemorySuite weighs what stays.
soak: $(VENV)/.dev jar
	$(PY) tests/soak.py --queries $(QUERIES)

# Delta Lake and the plugin in one session; downloads Delta with Maven.
test-delta: $(VENV)/.dev jar
	PHANTOMS_TEST_DELTA=1 $(PY) -m pytest tests/test_delta.py

# Debian's tools that are not installed are left out, and named: apt-get install tshark softflowd nfdump pmacct tcpreplay
lfta-tools: $(VENV)/.dev jar
	$(PY) -m pip install --quiet --disable-pip-version-check scapy
	$(PY) benchmarks/lfta/tools.py --packets $(PACKETS) --json benchmarks/results/lfta-tools.json

# The columns of captures and flow exports, as the readers have them.
docs-lfta: $(VENV)/.dev jar
	PYTHONPATH=python $(PY) tests/lfta_docs.py

docs-conf:
	./build/sbt "plugin/Test/runMain io.phantoms.spark.conf.ConfDocs docs/configuration.md" \
	  "plugin/Test/runMain io.phantoms.spark.explain.WhyNotPage docs/why-not.md"

clean:
	rm -rf $(VENV) .data dist python/phantoms/jars target project/target project/project
	rm -rf scala-plugin/*/target spark-warehouse
