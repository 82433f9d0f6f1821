"""Plain HTTP to WebHDFS, as curl and Python's clients send it: webhdfs_names.py PORT NAME..."""
import getpass
import http.client
import json
import sys
import urllib.parse

PORT = int(sys.argv[1])
FOLDER = "/http"
# What a client may leave as it is in a path: all encoded; what RFC 3986 allows; PyPI's hdfs.
SPELLINGS = {"encoded": "/", "RFC 3986": "/;=+&:@!$,*'()", "hdfs": "/="}


def send(method, url, body=None):
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
    connection.request(method, parts.path + "?" + parts.query, body)
    answer = connection.getresponse()
    content = answer.read()
    if answer.status == 307:
        return send(method, answer.getheader("Location"), body)
    return answer.status, content


def call(method, path, op, safe, body=None, **parameters):
    query = urllib.parse.urlencode({"op": op, "user.name": getpass.getuser(), **parameters})
    return send(method, f"http://localhost:{PORT}/webhdfs/v1{urllib.parse.quote(path, safe)}?{query}", body)


def listed(path):
    status, content = call("GET", path, "LISTSTATUS", "/")
    assert status == 200, content
    return [entry["pathSuffix"] for entry in json.loads(content)["FileStatuses"]["FileStatus"]]


def check(what, got, wanted):
    if got != wanted:
        print(f"{what}: {got!r}, not {wanted!r}")
        check.failures += 1


check.failures = 0


def use(name, spelling, safe):
    path, true = f"{FOLDER}/{name}", (200, b'{"boolean":true}')

    def does(op, got, wanted):
        check(f"{name} ({spelling}): {op}", got, wanted)

    call("DELETE", FOLDER, "DELETE", "/", recursive="true")
    does("create", call("PUT", path, "CREATE", safe, b"one")[0], 201)
    does("list", listed(FOLDER), [name])
    does("append", call("POST", path, "APPEND", safe, b"two"), (200, b""))
    does("open", call("GET", path, "OPEN", safe), (200, b"onetwo"))
    does("status", call("GET", path, "GETFILESTATUS", safe)[0], 200)
    xattr = {"xattr.name": "user." + name, "xattr.value": "0x31", "flag": "CREATE"}
    does("xattr", call("PUT", path, "SETXATTR", safe, **xattr)[0], 200)
    does("rename", call("PUT", path, "RENAME", safe, destination=FOLDER + "/other"), true)
    does("rename back", call("PUT", FOLDER + "/other", "RENAME", safe, destination=path), true)
    does("list", listed(FOLDER), [name])
    does("delete", call("DELETE", path, "DELETE", safe), true)
    does("mkdirs", call("PUT", f"{path}/{name}", "MKDIRS", safe), true)
    does("list", listed(FOLDER) + listed(path), [name, name])


for each in sys.argv[2:]:
    for kind, unreserved in SPELLINGS.items():
        use(each, kind, unreserved)
print(f"{len(sys.argv) - 2} names in {len(SPELLINGS)} spellings, {check.failures} failures")
sys.exit(check.failures > 0)
