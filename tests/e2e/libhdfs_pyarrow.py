"""pyarrow's HadoopFileSystem on the cluster of HADOOP_CONF_DIR: what it offers, once, with its result checked."""
import os
import subprocess
import sys

import pyarrow.fs as fs

hdfs = fs.HadoopFileSystem("default", 0, replication=1)
data = bytes(range(256)) * 10000

hdfs.create_dir("/arrow/below", recursive=True)
with hdfs.open_output_stream("/arrow/file") as out:
    out.write(data)
    out.flush()
with hdfs.open_append_stream("/arrow/file") as out:
    out.write(b"end")

with hdfs.open_input_stream("/arrow/file") as stream:
    assert stream.read() == data + b"end"
with hdfs.open_input_file("/arrow/file") as file:
    assert file.size() == len(data) + 3
    assert file.read_at(300, 1000) == data[1000:1300]
    file.seek(len(data))
    assert file.read() == b"end" and file.tell() == len(data) + 3

info = hdfs.get_file_info("/arrow/file")
assert info.type == fs.FileType.File and info.size == len(data) + 3 and info.mtime_ns > 0
assert hdfs.get_file_info("/arrow/none").type == fs.FileType.NotFound
listed = hdfs.get_file_info(fs.FileSelector("/arrow", recursive=True))
assert sorted((entry.path, entry.is_file) for entry in listed) == [("/arrow/below", False), ("/arrow/file", True)], listed

hdfs.move("/arrow/file", "/arrow/below/moved")
assert hdfs.get_file_info("/arrow/file").type == fs.FileType.NotFound
for wrong, error in ((lambda: hdfs.open_input_file("/arrow/file"), FileNotFoundError),
                     (lambda: hdfs.delete_dir("/arrow/none"), OSError)):
    try:
        wrong()
    except error:
        pass
    else:
        sys.exit("no error")

tree = os.environ["HADOOP_HOME"]
counters = subprocess.run([f"{tree}/bin/howdah", "stat", str(os.getpid())], capture_output=True, text=True, check=True).stdout
assert any(line.split()[0] == "streams.opened" and int(line.split()[1]) > 0 for line in counters.splitlines() if line.strip()), counters

hdfs.delete_file("/arrow/below/moved")
hdfs.delete_dir("/arrow")
assert hdfs.get_file_info("/arrow").type == fs.FileType.NotFound
print("all is well")
