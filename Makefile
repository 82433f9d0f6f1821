# Howdah: each target is one step of ci/, which says more about itself in its first lines. `make help` lists them.

.DEFAULT_GOAL := help
.PHONY: help prepare patches whole native engine rdma-vm rdma-vm-jobs proofs java dist stock demo test lint unit unit-slow e2e e2e-slow conformance conformance-slow
.PHONY: bench-default bench-engine bench-hdfs bench-job bench-mapreduce bench-rpc bench-spark bench-stock bench-storage deb rpm repo images agent-image test-packages test-images package-table option-table docs clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

prepare: ## install what this machine lacks (packages, JDK 8)
	@ci/prepare

patches: prepare ## rebuild the patched modules of Hadoop and Spark
	@ci/patches

whole: prepare ## check that each patched module compiles as a whole
	@ci/patches --whole

native: prepare ## build the engine and run its tests
	@ci/native

engine: prepare ## build the engine and its tools, without its tests
	@ci/native --dist

java: patches ## build our Java
	@ci/java

dist: java engine ## build the distribution tree and tarball, build/dist/
	@ci/dist

stock: dist ## build the same tree with official jars only, build/stock/
	@ci/dist --stock

demo: dist ## run the main job: a real cluster sorts and counts real data
	@ci/demo

test: stock ## run every test; ends with counts
	@ci/test

lint: prepare ## run the linters
	@ci/lint

unit: java ## run the unit tests
	@ci/unit

unit-slow: java ## run them with those that take a minute
	@UNIT_SLOW=1 ci/unit

e2e: stock ## run the end-to-end tests on a local cluster
	@ci/e2e

e2e-slow: stock ## run them with those that take minutes
	@E2E_SLOW=1 ci/e2e

rdma-vm: dist ## run the tests that need real verbs and uDAPL, in a virtual machine
	@ci/rdma-vm-tests

rdma-vm-jobs: dist ## run Hadoop's and Spark's own jobs in it over verbs and uDAPL, minutes each
	@ci/rdma-vm-tests --jobs

proofs: java ## run the engine's long proofs over verbs and uDAPL: sanitizers, valgrind, hundreds of faults and kills
	@ci/rdma-vm-tests --proofs

conformance: stock ## run upstream's own tests against our jars
	@ci/conformance

conformance-slow: stock ## run all that are listed, an hour and more
	@ci/conformance --slow

bench-default: stock ## compare with stock Hadoop and Spark, both as they are by default, build/bench/default.json
	@ci/bench-default

bench-engine: dist ## compare the engine with TCP, memcpy and perftest, build/bench/engine.json
	@ci/bench-engine

bench-hdfs: stock ## compare HDFS over the engine with stock Hadoop's, build/bench/hdfs.json
	@ci/bench-hdfs

bench-job: dist ## measure how long a job of Slurm takes until its command runs, build/bench/job.json
	@ci/bench-job

bench-mapreduce: stock ## compare MapReduce jobs with stock Hadoop's, by default and tuned, build/bench/mapreduce.json
	@ci/bench-mapreduce

bench-rpc: stock ## compare RPC over the engine with stock Hadoop's, build/bench/rpc.json
	@ci/bench-rpc

bench-spark: stock ## compare Spark's shuffles over the engine with stock Spark's, build/bench/spark.json
	@ci/bench-spark

bench-stock: stock ## compare with stock Hadoop while RDMA is off, build/bench/stock.json
	@ci/bench-stock

bench-storage: stock ## compare HDFS in storage modes with stock Hadoop's, build/bench/storage.json
	@ci/bench-storage

deb: dist ## build the packages for apt, both architectures, build/packages/deb/
	@ci/prepare packages
	@ci/deb

rpm: dist ## build the packages for yum, both architectures, build/packages/rpm/
	@ci/prepare packages
	@ci/rpm

repo: ## make apt and yum repositories of them, signed by gpg's key KEY=..., build/packages/repo/
	@ci/repo $(if $(KEY),--key '$(KEY)') $(if $(URL),--url '$(URL)')

images: deb ## build container images from the packages for apt: howdah-base and howdah, by docker, podman or buildah
	@ci/images

agent-image: prepare ## build howdah-agent, the image of an agent of Jenkins (ci/Jenkinsfile), by docker, podman or buildah
	@ci/prepare packages
	@ci/images --agent

test-packages: dist ## install, use, upgrade and remove the packages in systems of their own; with what make test leaves out
	@ci/prepare packages
	@ci/test-packages --all

test-images: deb ## run a cluster of these images under a Docker engine of the test's own
	@ci/test-images

package-table: ## write docs/guide/package-files.md from the packages of make deb rpm
	@ci/lib/package_table.py build/packages/deb build/packages/rpm docs/guide/package-files.md

option-table: ## write docs/guide/options.md from the tables that declare options
	@ci/lib/option_table.py

docs: ## make HTML of the documents, build/docs/index.html
	@ci/docs

clean: ## remove everything that was built
	@rm -rf build
