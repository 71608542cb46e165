"""A connector that keeps the contract, but for the one rule it is told to break."""
import base64, json, os, sys, time

broken = sys.argv[1] if len(sys.argv) > 1 else ""
PREFIX = "x://check/"
PICTURE = bytes(range(256)) * 300
limit, initialized, rounds, handed_out = 1 << 26, False, 0, set()


def breaks(rule):
    return broken == rule


def send(message):
    sys.stdout.write(json.dumps(message, separators=(",", ":")) + "\n")
    sys.stdout.flush()


def document(name, text, **more):
    element = {"category": "NarrativeText", "text": text}
    return {"kind": "document", "file_uri": PREFIX + name, "document": {"file_type": "txt"},
            "pages": [{"elements": [element]}], **more}


def picture():
    blob = {"handle": "h1", "size": len(PICTURE) - breaks("blob_size")}
    item = document("picture", "")
    item["pages"] = [{"elements": [{"category": "Image", "mime_type": "image/png", "blob": blob}]}]
    return item


def items():
    text = "x" * (300 << 10) if breaks("message_limit") else "hello"
    if breaks("determinism"):
        text = str(os.getpid())
    found = [document("a", text), picture(), document("b", "first", continued=True)]
    rest = document("b", "second")
    del rest["document"]
    found.append(rest)
    if breaks("items"):
        found[0]["size"] = 1
    if breaks("segments"):
        found[3]["continued"] = True
    if breaks("prefix"):
        found[0]["file_uri"] = "x://elsewhere/a"
    return found


class Refused(Exception):
    pass


def initialize(params):
    global initialized, limit
    if "dpe-connector/1" not in params["protocol_versions"] and not breaks("version_refused"):
        raise Refused(-32004)
    if not isinstance(params["instance"]["config"].get("space"), str) and not breaks("config_refused"):
        raise Refused(-32005)
    limit, initialized = params["max_message_bytes"], True
    version = "2" if breaks("initialize") else "1"
    return {"protocol_version": "dpe-connector/1", "plugin": {"name": "probed", "version": version},
            "capabilities": {"supports_cursor": True}}


def scan(params):
    global rounds
    found, following = items(), params.get("next")
    if breaks("no rule, but has no source"):
        raise Refused(-32003)
    if following is None:
        rounds += 1
        handed_out.clear()
        if breaks("cancel") and rounds == 2:
            time.sleep(60)
        cursor = params.get("cursor")
        if cursor == "c":
            gone = [{"kind": "delete", "file_uri": PREFIX + "a"}] if breaks("cursor") else []
            return {"items": gone, "cursor": "c", "incremental": True}
        if cursor is not None and breaks("cursor_fallback"):
            raise Refused(-32003)
        handed_out.add("rest")
        return {"items": found[:2], "next": "rest"}
    if following not in handed_out and not breaks("unknown_next"):
        raise Refused(-32602)
    if breaks("round"):
        return {"items": found[2:], "cursor": "c"}
    return {"items": found[2:], "cursor": "c", "incremental": False}


reads = 0


def read_blob(params):
    global reads
    if params["handle"] != "h1" and not breaks("unknown_handle"):
        raise Refused(-32002)
    reads += 1
    offset = params.get("offset", 0)
    data = PICTURE[offset:offset + params["max_bytes"]]
    eof = offset + len(data) >= len(PICTURE)
    if breaks("blobs") and reads > 1:
        data = data[::-1]
    return {"data": base64.b64encode(data).decode(), "eof": eof}


def answer(method, params):
    if method == "initialize":
        return initialize(params)
    if not initialized and not breaks("before_initialize"):
        raise Refused(-32600)
    if method in ("scan", "read_blob"):
        return {"scan": scan, "read_blob": read_blob}[method](params)
    if method == "shutdown" or breaks("unknown_method"):
        return {}
    raise Refused(-32601)


for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    if breaks("framing") and request["method"] == "scan":
        print("scanning", flush=True)
    try:
        if len(line) > limit and not breaks("oversized_request"):
            raise Refused(-32600)
        result = answer(request["method"], request["params"])
        send({"jsonrpc": "2.0", "id": request["id"], "result": result})
    except Refused as refused:
        error = {"code": refused.args[0], "message": "refused " + os.environ.get("TOKEN", "")}
        send({"jsonrpc": "2.0", "id": request["id"], "error": error})
    if request["method"] == "shutdown":
        sys.exit(1 if breaks("shutdown") else 0)
if breaks("end_of_input"):
    time.sleep(60)
