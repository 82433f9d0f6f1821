# PySpark and py4j as they ship: every module can be imported, and MLlib works with the numpy that is there.

load tree

setup_file() {
    find_built_tree
    # The distribution's Python has numpy (ci/packages); another one may come first in PATH.
    for PYSPARK_PYTHON in python3 /usr/bin/python3; do ! "$PYSPARK_PYTHON" -c 'import numpy' 2>/dev/null || break; done
    export PYSPARK_PYTHON PYTHONPATH=$TREE/python
    for zip in "$TREE"/python/lib/py4j-*-src.zip; do PYTHONPATH+=:$zip; done
    "$PYSPARK_PYTHON" -c 'import numpy'
}

# imports: imports every module of both packages; prints how many and each failure.
imports() {
    "$PYSPARK_PYTHON" -W error::SyntaxWarning - <<'PY'
import importlib, pkgutil
count = 0
for package in ("pyspark", "py4j"):
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, package + "."):
        if module.name != "pyspark.shell":  # starts a session
            try:
                importlib.import_module(module.name)
            except BaseException as e:
                print("failed:", module.name, repr(e))
            count += 1
print(count, "modules")
PY
}

@test "every module of PySpark and py4j can be imported, from the folder and from what is sent to YARN" {
    run -0 imports
    [[ $output != *failed:* ]]
    [ "${output%% *}" -gt 80 ]
    PYTHONPATH=$TREE/python/lib/pyspark.zip:${PYTHONPATH#*:} run -0 imports
    [[ $output != *failed:* ]]
}

@test "no module is missing that the release has, but for its own tests" {
    local sdist=${XDG_CACHE_HOME:-$HOME/.cache}/howdah/python/pyspark-$SPARK_VERSION.tar.gz
    run comm -23 <(tar -tzf "$sdist" --wildcards '*/pyspark/*.py' | sed 's,^[^/]*/pyspark/,,' | grep -v '^python/' | sort) \
        <(cd "$TREE/python/pyspark" && find . -name '*.py' | sed 's,^\./,,' | sort)
    [ "$output" = $'ml/tests.py\nmllib/tests.py\nsql/tests.py\nstreaming/tests.py\ntests.py' ]
}

@test "nothing calls numpy by a name that numpy 2 has not" {
    python3 - "$TREE/python/pyspark" <<'PY'
import ast, pathlib, sys
gone = {"in1d", "string_", "unicode_", "float_", "complex_", "Inf", "NaN", "infty", "row_stack", "product", "alltrue", "sometrue"}
for file in pathlib.Path(sys.argv[1]).rglob("*.py"):
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Attribute):
            owner = getattr(node.value, "id", "")
            if owner in ("np", "numpy") and node.attr in gone or node.attr == "tostring" and owner != "ar":  # array.array's, Python 2
                sys.exit(f"{file}:{node.lineno}: {owner}.{node.attr}")
PY
}

@test "MLlib: statistics, clusters, dense and sparse vectors and matrices through workers" {
    cat >"$BATS_TEST_TMPDIR/job.py" <<'PY'
from pyspark import SparkContext
from pyspark.ml.linalg import SparseVector as NewSparseVector
from pyspark.mllib.clustering import KMeans
from pyspark.mllib.linalg import Matrices, SparseVector, Vectors
from pyspark.mllib.linalg.distributed import RowMatrix
from pyspark.mllib.stat import Statistics

sc = SparkContext()
rows = sc.parallelize([Vectors.dense([1.0, 2.0]), Vectors.dense([3.0, 4.0]), Vectors.dense([8.0, 6.0])], 2)
print("mean", [float(x) for x in Statistics.colStats(rows).mean()])
print("chi", Statistics.chiSqTest(Vectors.dense([1.0, 2.0, 3.0])).statistic)
print("clusters", len(KMeans.train(rows, 2, seed=1).clusterCenters))
for vector in SparseVector, NewSparseVector:
    print("dot", float(vector(4, [0, 2], [1.0, 2.0]).dot(vector(4, [2, 3], [5.0, 6.0]))))
values = [SparseVector(3, {1: 2.0}), Matrices.dense(2, 2, [1, 2, 3, 4]), Matrices.sparse(2, 2, [0, 1, 2], [0, 1], [1, 2])]
print("sums", [float(x) for x in sc.parallelize(values).map(lambda v: v.toArray().sum()).collect()])
print("rows", RowMatrix(rows).numRows())
PY
    run -0 --separate-stderr "$TREE/bin/spark-submit" --master 'local[2]' --conf spark.ui.enabled=false "$BATS_TEST_TMPDIR/job.py"
    [ "$output" = 'mean [4.0, 4.0]
chi 1.0
clusters 2
dot 10.0
dot 10.0
sums [2.0, 10.0, 3.0]
rows 3' ]
}

@test "every worker has the seed of hashes that the driver has, or one that was asked for" {
    cat >"$BATS_TEST_TMPDIR/seed.py" <<'PY'
import os
from pyspark import SparkContext
print("seed", SparkContext().environment["PYTHONHASHSEED"], os.environ["PYTHONHASHSEED"])
PY
    PYTHONHASHSEED=5 run -0 "$TREE/bin/spark-submit" --master 'local[1]' --conf spark.ui.enabled=false "$BATS_TEST_TMPDIR/seed.py"
    [[ $output == *'seed 5 5'* ]]
    run -0 "$TREE/bin/spark-submit" --master 'local[1]' --conf spark.ui.enabled=false --conf spark.executorEnv.PYTHONHASHSEED=7 \
        "$BATS_TEST_TMPDIR/seed.py"
    [[ $output == *'seed 7 0'* ]]
}
