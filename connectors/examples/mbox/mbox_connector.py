#!/usr/bin/env python3
"""Mailbox files (mbox) to documents: a complete connector. Python 3.8 or later, nothing to install."""
import base64, email.header, email.policy, hashlib, html, json, os, re, sys, time, zlib
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

HELLO = {"protocol_version": "dpe-connector/1", "plugin": {"name": "mbox", "version": "1.0.0"},
         "capabilities": {"supports_cursor": True}}
RAW = email.policy.EmailPolicy(header_factory=lambda name, value: value)  # `header` decodes them

def messages(path):
    """Returns the messages of a mailbox: what follows a line `From …` that follows an empty line."""
    with open(path, "rb") as file:
        first, *rest = re.split(rb"(?:\A\s*|(?<=\n\n)|(?<=\n\r\n))From .*\n?", file.read())
    if first.strip():
        raise ValueError("not a mailbox: it does not begin with a line `From …`")
    return [message.rstrip(b"\r\n") for message in rest]  # as if no other one had been appended

def name(message, digest):
    given = re.match(rb"(?im)(?:[^\r\n].*\n)*?Message-ID:\s*<?([^\s<>]{1,500})>?\s*$", message)
    return quote(given.group(1), safe="@$+=") if given else "sha256-" + digest

def header(mail, name):
    value = mail.get(name, "")
    try:
        value = str(email.header.make_header(email.header.decode_header(value)))
    except (LookupError, ValueError, email.errors.MessageError):
        pass  # what cannot be decoded is shown as it is
    return " ".join(value.split())

def paragraphs(part):
    data = part.get_payload(decode=True)
    try:
        text = data.decode(part.get_content_charset("utf-8"))
    except (LookupError, ValueError):  # a charset that is unknown, or not what the text is in
        text = data.decode("utf-8", "replace")
    if part.get_content_type() == "text/html":
        text = html.unescape(re.sub(r"(?is)<(script|style)\b.*?(</\1\s*>|\Z)|<[^<>]*>", " ", text))
    return [piece.strip() for piece in re.split(r"\n\s*\n", text.replace("\r", "")) if piece.strip()]

def document(uri, message):
    """Returns the item of a message; the same bytes always give the same."""
    mail = email.message_from_bytes(re.sub(rb"(?m)^>(>*From )", rb"\1", message), policy=RAW)
    title = {"title": header(mail, "Subject")} if header(mail, "Subject") else {}
    elements = [{"category": category, "text": header(mail, name), "metadata": {"header": name}} for name, category
                in (("Subject", "Title"), ("From", "EmailAddress"), ("To", "EmailAddress")) if header(mail, name)]
    parts = [part for part in mail.walk() if not part.is_multipart()]
    has_plain = any(part.get_content_type() == "text/plain" for part in parts if not part.get_filename())
    for part in parts:
        kind = part.get_content_type()
        if kind.startswith("image/"):
            blob = {"inline": base64.b64encode(part.get_payload(decode=True)).decode()}
            elements.append({"category": "Image", "mime_type": kind, "blob": blob})
        elif part.get_filename():
            elements.append({"category": "ListItem", "text": part.get_filename(), "metadata": {"attachment": kind}})
        # What claims to have parts and has none has lost their boundary.
        elif kind.startswith(("text/", "multipart/")) and not (kind == "text/html" and has_plain):
            elements += [{"category": "NarrativeText", "text": text} for text in paragraphs(part)]
    return {"kind": "document", "file_uri": uri, "document": {"file_type": "eml", **title},
            "pages": [{"elements": elements}]}

def failure(uri, error):
    code, retryable = ("source_unavailable", True) if isinstance(error, OSError) else ("content_invalid", False)
    message = str(error) or repr(error)
    return {"kind": "error", "file_uri": uri, "code": code, "message": message, "retryable": retryable}

def packed(value):
    """Returns compact JSON, which has no line ends. Bytes that were no ASCII in headers are UTF-8."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace").encode()

class Refused(Exception):
    """An error response: code and message."""
    __str__ = lambda self: self.args[1]

class Connector:
    limit = expected = unwanted = None  # no limit: not initialized

    def run(self):
        """Reads on while a thread answers: `cancel`, `shutdown` and the end of input come during work."""
        worker, last = ThreadPoolExecutor(1), None
        for line in sys.stdin.buffer:
            request = json.loads(line)
            if request["method"] in ("cancel", "shutdown"):
                self.unwanted = request["params"].get("id", last)
            if request["method"] != "cancel":
                last = request["id"]
                worker.submit(self.answer, last, request["method"], request.get("params", {}), len(line))
        worker.submit(os._exit, 0)
        time.sleep(1)
        os._exit(0)  # the runner is gone, and nobody wants what takes longer

    def answer(self, number, method, params, size):
        self.number, answer = number, {"jsonrpc": "2.0", "id": number}
        methods = {"initialize": self.initialize, "scan": self.scan, "read_blob": None, "shutdown": lambda params: {}}
        try:
            if size > (self.limit or size) or bool(self.limit) == (method == "initialize"):
                raise Refused(-32600, "too long, or not in this order")
            if not methods.get(method):
                raise Refused(-32002 if method in methods else -32601, "no such handle, or no such method")
            answer["result"] = methods[method](params)
        except OSError as error:
            answer["error"] = {"code": -32003, "message": str(error), "data": {"retryable": True}}
        except Exception as error:  # what is no refusal comes of wrong parameters
            code = error.args[0] if isinstance(error, Refused) else -32602
            answer["error"] = {"code": code, "message": str(error) or repr(error)}
        sys.stdout.buffer.write(packed(answer) + b"\n")
        sys.stdout.buffer.flush()
        if method == "shutdown" and "result" in answer:
            os._exit(0)  # and not `sys.exit`, since the other thread is reading

    def initialize(self, params):
        if HELLO["protocol_version"] not in params["protocol_versions"]:
            raise Refused(-32004, "only dpe-connector/1 is spoken here")
        self.path, self.prefix = params["instance"]["config"].get("path"), params["instance"]["uri_prefix"]
        if not isinstance(self.path, str) or not os.path.isabs(self.path):
            raise Refused(-32005, "`path` has to be the absolute path of a folder")
        self.limit = params["max_message_bytes"]
        self.longest = (self.limit - 4096) // 2  # of an item, so that there is room for one more
        return HELLO

    def scan(self, params):
        expected, self.expected = self.expected, None  # a scan that fails ends its round
        if params.get("next") is None:
            self.round = self.changes(params.get("cursor"))
        elif params["next"] != expected:
            raise Refused(-32602, "`next` is not, or no longer, of this round")
        items, room = [], 2 * self.longest
        while room > self.longest and len(items) < params.get("max_items", 100):
            item = next(self.round)
            if "kind" not in item:  # it is what ends the round
                return {"items": items, **item}
            items.append(item)
            room -= len(packed(item)) + 1
        self.expected = str(self.number)
        return {"items": items, "next": self.expected}

    def changes(self, cursor):
        """Yields what leads from a cursor, {uri: digest} of all messages, to what is there, and the next cursor."""
        known, found, incremental = {}, {}, False
        try:
            known, incremental = {**json.loads(zlib.decompress(base64.b64decode(cursor)))}, True
        except (TypeError, ValueError, zlib.error):
            pass  # a cursor that cannot be used is as good as none
        boxes = sorted(name for name in os.listdir(self.path) if name.endswith(".mbox"))
        if not boxes:  # an error, and not an empty source, in which everything has been deleted
            raise OSError("there is no mailbox in " + self.path)
        for box in boxes:
            beginning = self.prefix + quote(os.fsencode(box)) + "/"
            try:
                for message in messages(os.path.join(self.path, box)):
                    if self.number == self.unwanted:
                        raise Refused(-32001, "cancelled")
                    digest = hashlib.sha256(message).hexdigest()
                    uri = beginning + name(message, digest)
                    if found.get(uri, digest) != digest:
                        uri += ";" + digest  # another message of the same name
                    if uri not in found and known.get(uri) != digest:
                        yield self.item(uri, message)
                    found[uri] = digest
            except (OSError, ValueError) as error:  # what cannot be read is not gone
                found.update((uri, known[uri]) for uri in known.keys() - found if uri.startswith(beginning))
                yield failure(beginning, error)
        yield from ({"kind": "delete", "file_uri": uri} for uri in sorted(known.keys() - found.keys()))
        cursor = base64.b64encode(zlib.compress(packed(found))).decode()  # too long: the runner keeps its old one
        yield {"cursor": cursor if len(cursor) < self.longest else None, "incremental": incremental}

    def item(self, uri, message):
        try:
            item = document(uri, message)
            return item if len(packed(item)) <= self.longest else failure(uri, "the message is too long")
        except Exception as error:  # whatever is wrong with it, the others are delivered
            return failure(uri, error)

Connector().run()
