#!/usr/bin/env python3
"""Mailbox files (mbox) to documents: a complete connector. Python 3.8 or later, nothing to install."""
import base64, email, functools, hashlib, html, itertools, json, os, re, sys, time, zlib
import email.header, email.policy, email.utils
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

HELLO = {"protocol_version": "dpe-connector/1", "plugin": {"name": "mbox", "version": "1.0.0"},
         "capabilities": {"supports_cursor": True}}
OVERHEAD = 4096  # more than a line needs around its items or its data
RAW = email.policy.EmailPolicy(header_factory=lambda name, value: value)  # `header` decodes them


def messages(path):
    """Yields (offset, bytes) of the messages: what follows a line `From …` that follows an empty line."""
    if not os.path.isfile(path):
        raise OSError("not a regular file")  # opening a pipe would wait for somebody to write
    offset, start, lines, after_empty = 0, 0, [], True
    with open(path, "rb") as file:
        for line in itertools.chain(file, [b"\n", b"From "]):  # which end the last message
            offset += len(line)
            if after_empty and line.startswith(b"From "):
                if start:  # without the empty lines that come when another message is appended
                    yield start, b"".join(lines).rstrip(b"\r\n")
                start, lines = offset, []
            elif start or line.isspace():
                lines.append(line)
            else:
                raise ValueError("not a mailbox: it does not begin with a line `From …`")
            after_empty = line.isspace()


def name_of(message, digest):
    head = re.split(rb"\n\r?\n", message, maxsplit=1)[0]
    found = re.search(rb"(?im)^Message-ID:\s*<?([^\s<>]{1,500})>?\s*$", head)
    return quote(found.group(1), safe="@$+=") if found else "sha256-" + digest


@functools.lru_cache(maxsize=1)  # the chunks of an image are asked for one after the other
def parsed(message):
    """Returns the mail and those of its parts that hold something. `>From ` was once `From `."""
    mail = email.message_from_bytes(re.sub(rb"(?m)^>(>*From )", rb"\1", message), policy=RAW)
    return mail, [part for part in mail.walk() if not part.is_multipart()]


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


def item_of(uri, message, digest):
    """Returns the item of a message; the same bytes always give the same."""
    mail, parts = parsed(message)
    elements = [{"category": category, "text": header(mail, name), "metadata": {"header": name}}
                for name, category in (("Subject", "Title"), ("From", "EmailAddress"), ("To", "EmailAddress"))
                if header(mail, name)]
    has_plain = any(part.get_content_type() == "text/plain" for part in parts if not part.get_filename())
    for index, part in enumerate(parts):
        kind = part.get_content_type()
        if kind.startswith("image/"):
            blob = {"handle": "%s.%d" % (digest, index), "size": len(part.get_payload(decode=True))}
            elements.append({"category": "Image", "mime_type": kind, "blob": blob})
        # What claims to have parts and has none has lost their boundary.
        elif kind.startswith(("text/", "multipart/")) and not (kind == "text/html" and has_plain):
            elements += [{"category": "NarrativeText", "text": text} for text in paragraphs(part)]
    document = {"file_type": "eml"}
    if header(mail, "Subject"):
        document["title"] = header(mail, "Subject")
    try:
        date = email.utils.parsedate_to_datetime(mail["Date"]).utctimetuple()
        document["doc_metadata"] = {"date": "%04d-%02d-%02dT%02d:%02d:%02dZ" % date[:6]}
    except (TypeError, ValueError, IndexError, OverflowError):
        pass  # a date that is missing or cannot be read is never made up
    return {"kind": "document", "file_uri": uri, "document": document, "pages": [{"elements": elements}]}


def failure(uri, error):
    may_pass = isinstance(error, OSError)
    return {"kind": "error", "file_uri": uri, "code": "source_unavailable" if may_pass else "content_invalid",
            "message": str(error) or repr(error), "retryable": may_pass}


def packed(value):
    """Returns compact JSON, which has no line ends. Bytes that were no ASCII in headers are UTF-8."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace").encode()


class Refused(Exception):
    """An error response: code and message."""


class Connector:
    def __init__(self):
        self.unwanted, self.limit, self.expected = set(), None, None  # no limit: not initialized

    def run(self):
        """Reads on while a thread answers: `cancel`, `shutdown` and the end of input come during work."""
        self.stdout, sys.stdout = sys.stdout.buffer, sys.stderr  # no `print` gets between the answers
        worker, last = ThreadPoolExecutor(1), None
        for line in sys.stdin.buffer:
            try:
                request = {"id": None, "params": {}, **json.loads(line)}
                if request["method"] == "cancel":
                    self.unwanted.add(request["params"]["id"])
                    continue
            except (KeyError, RecursionError, TypeError, ValueError):
                request = {"id": None, "method": None, "params": {}}
            if request["method"] == "shutdown":
                self.unwanted.add(last)
            last = request["id"]
            worker.submit(self.answer, last, request["method"], request["params"], len(line))
        worker.submit(os._exit, 0)
        time.sleep(1)
        os._exit(0)  # the runner is gone, and nobody wants what takes longer

    def answer(self, number, method, params, size):
        self.number, answer = number, {"jsonrpc": "2.0", "id": number}
        try:
            if not method or size > (self.limit or size) or bool(self.limit) == (method == "initialize"):
                raise Refused(-32600 if method else -32700, "no request, too long, or not in this order")
            if method not in ("initialize", "scan", "read_blob", "shutdown"):
                raise Refused(-32601, "no such method")
            answer["result"] = {} if method == "shutdown" else getattr(self, method)(params)
        except Refused as error:
            answer["error"] = {"code": error.args[0], "message": error.args[1]}
        except OSError as error:
            answer["error"] = {"code": -32003, "message": str(error), "data": {"retryable": True}}
        except Exception as error:
            answer["error"] = {"code": -32602, "message": "impossible with these parameters: %r" % error}
        self.stdout.write(packed(answer) + b"\n")
        self.stdout.flush()
        if method == "shutdown" and "result" in answer:
            os._exit(0)  # and not `sys.exit`, since the other thread is reading

    def initialize(self, params):
        if HELLO["protocol_version"] not in params["protocol_versions"]:
            raise Refused(-32004, "only dpe-connector/1 is spoken here")
        self.path, self.prefix = params["instance"]["config"].get("path"), params["instance"]["uri_prefix"]
        if not isinstance(self.path, str) or not os.path.isabs(self.path):
            raise Refused(-32005, "`path` has to be the absolute path of a folder")
        self.limit = params["max_message_bytes"]
        self.longest = (self.limit - OVERHEAD) // 2  # of an item, so that there is room for one more
        return HELLO

    def scan(self, params):
        expected, self.expected = self.expected, None  # a scan that fails ends its round
        if params.get("next") is None:
            self.places, self.round = {}, self.enumerate(params.get("cursor"))
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

    def enumerate(self, cursor):
        """Yields the items that lead from a cursor to what is there, and at last the next cursor: that
        is {uri: digest} of all messages, as they were read here."""
        scope, found = [HELLO, self.prefix, self.path], {}
        try:
            of, known = json.loads(zlib.decompress(base64.b64decode(cursor)))
        except (TypeError, ValueError, zlib.error):
            of = None
        known = known if of == scope else {}  # a cursor of something else is as good as none
        boxes = sorted(name for name in os.listdir(self.path) if name.endswith(".mbox"))
        if not boxes:  # an error, and not an empty source, in which everything has been deleted
            raise OSError("there is no mailbox in " + self.path)
        for box in boxes:
            beginning = self.prefix + quote(os.fsencode(box)) + "/"
            try:
                yield from self.changes(os.path.join(self.path, box), beginning, known, found)
            except (OSError, ValueError) as error:  # what cannot be read is not gone
                found.update({**{uri: known[uri] for uri in known if uri.startswith(beginning)}, **found})
                yield failure(beginning, error)
        yield from ({"kind": "delete", "file_uri": uri} for uri in sorted(known.keys() - found.keys()))
        cursor = base64.b64encode(zlib.compress(packed([scope, found]))).decode()
        # Instead of one that is too long, the runner keeps the one it has.
        yield {"cursor": cursor if len(cursor) < self.longest else None, "incremental": of == scope}

    def changes(self, path, beginning, known, found):
        for offset, message in messages(path):
            if self.number in self.unwanted:
                raise Refused(-32001, "cancelled")
            digest = hashlib.sha256(message).hexdigest()
            uri = beginning + name_of(message, digest)
            if found.get(uri, digest) != digest:
                uri += ";" + digest  # another message of the same name
            if uri not in found and known.get(uri) != digest:
                self.places[digest] = path, offset, len(message)
                try:
                    item = item_of(uri, message, digest)
                    if len(packed(item)) > self.longest:
                        raise ValueError("the message is too long")
                except Exception as error:  # whatever is wrong with it, the others are delivered
                    item = failure(uri, error)
                yield item
            found[uri] = digest

    def read_blob(self, params):
        (digest, _, index), start = params["handle"].partition("."), params.get("offset", 0)
        if digest not in self.places:
            raise Refused(-32002, "no such handle in this round")
        path, offset, length = self.places[digest]
        with open(path, "rb") as file:
            file.seek(offset)
            message = file.read(length)
        if hashlib.sha256(message).hexdigest() != digest:  # the same bytes that were announced, or none
            raise OSError("the mailbox has changed since it was scanned")
        data = parsed(message)[1][int(index)].get_payload(decode=True)
        end = start + min(params["max_bytes"], (self.limit - OVERHEAD) * 3 // 4)
        return {"data": base64.b64encode(data[start:end]).decode(), "eof": end >= len(data)}


if __name__ == "__main__":
    Connector().run()
