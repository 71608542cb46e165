#!/usr/bin/env python3
"""Mailbox files (mbox) to documents: a complete connector. Python 3.8 or later, nothing to install.

In four parts: mailboxes, messages, rounds, and the loop that talks to the runner. README.md says
what becomes of a message; docs/connectors.md of this repository explains the protocol.
"""
import base64, email, hashlib, html, json, os, queue, re, sys, threading, time, traceback, zlib
from datetime import timezone
from email.errors import MessageError
from email.header import decode_header, make_header
from email.policy import Compat32
from email.utils import parsedate_to_datetime
from urllib.parse import quote

IDENTITY = {"name": "mbox", "version": "1.0.0"}  # as in the manifest
OVERHEAD = 4096  # more than a message needs around its items or its data


class Refused(Exception):
    """An error response: code, message, and whether asking again may help."""


# ---- Mailboxes -----------------------------------------------------------------------------------

def mailboxes(path):
    """Returns {name: path}. A source that is not there is an error, not an empty source."""
    def fail(error):
        raise error
    if not os.path.isdir(path):
        os.stat(path)
        return {os.path.basename(path): path}
    paths = [os.path.join(at, name) for at, _, names in os.walk(path, onerror=fail) for name in names]
    boxes = {os.path.relpath(each, path): each for each in paths if each.endswith(".mbox")}
    if not boxes:
        raise OSError("there is no mailbox")
    return boxes


def messages(path):
    """Yields (offset, bytes) of each message. It begins after a line `From …` that follows an empty
    line; empty lines at its end do not count, since the next message may be appended after one."""
    if not os.path.isfile(path):
        raise OSError("not a regular file")  # opening a pipe would wait for somebody to write
    with open(path, "rb") as file:
        offset, start, lines, after_empty = 0, 0, None, True
        for line in file:
            offset += len(line)
            if after_empty and line.startswith(b"From "):
                if lines is not None:
                    yield start, b"".join(lines).rstrip(b"\r\n")
                start, lines = offset, []
            elif lines is not None:
                lines.append(line)
            elif line.strip():
                raise ValueError("not a mailbox: it does not begin with a line `From …`")
            after_empty = not line.strip()
        if lines is not None:
            yield start, b"".join(lines).rstrip(b"\r\n")


def digest_of(message):
    return hashlib.sha256(message).hexdigest()[:32]


# ---- Messages ------------------------------------------------------------------------------------

class RawHeaders(Compat32):
    """Gives headers as they are; bytes that are not ASCII are left to `clean`."""
    def header_fetch_parse(self, name, value):
        return value


def mail_of(message):
    """Parses a message. `>From ` at the beginning of a line once was `From `."""
    return email.message_from_bytes(re.sub(rb"(?m)^>(>*From )", rb"\1", message), policy=RawHeaders())


def clean(text):
    """Returns text without lone surrogates, which JSON cannot carry: 8-bit headers are UTF-8."""
    text = re.sub("[\ud800-\udc7f\udd00-\udfff]", "\ufffd", text)
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def present(**members):
    return {name: value for name, value in members.items() if value is not None}


def header(mail, name):
    """Returns a header as one line of text, or None."""
    value = mail.get(name, "")
    try:
        value = str(make_header(decode_header(value)))
    except (LookupError, ValueError, MessageError):
        pass  # an encoded word that cannot be decoded is shown as it is
    return " ".join(clean(value).split()) or None


def date_of(mail):
    """Returns RFC 3339, or None: a date that is missing or cannot be read is never made up."""
    try:
        date = parsedate_to_datetime(mail.get("Date"))
        date = date.replace(tzinfo=date.tzinfo or timezone.utc).astimezone(timezone.utc)
        return date.replace(tzinfo=None).isoformat() + "Z"
    except (TypeError, ValueError, IndexError, OverflowError):
        return None


def paragraphs(part):
    """Returns the paragraphs of a text part, whatever its charset claims to be."""
    data, charset = part.get_payload(decode=True), part.get_content_charset("us-ascii")
    for name, errors in ((charset, "strict"), ("utf-8", "strict"), ("latin-1", "strict")):
        try:
            text = data.decode(name, errors)
            break
        except (LookupError, ValueError):
            continue
    if part.get_content_subtype() == "html":
        text = re.sub(r"(?is)<(script|style|title)\b.*?</\1>|<!--.*?-->", " ", text)
        text = re.sub(r"(?i)</?(p|div|h[1-6]|li|tr|table|blockquote|pre|hr)\b[^>]*>", "\n\n", text)
        text = html.unescape(re.sub(r"<[^>]*>", " ", text))
    pieces = re.split(r"\n\s*\n", clean(text).replace("\r\n", "\n"))
    return [piece.strip() for piece in pieces if piece.strip()]


def leaves(part):
    """Yields the parts that hold something; of alternatives the first plain text, or the last."""
    if not part.is_multipart():
        yield part
        return
    children = part.get_payload()
    if part.get_content_type() == "multipart/alternative":
        plain = [child for child in children if child.get_content_type() == "text/plain"]
        children = plain[:1] or children[-1:]
    for child in children:
        yield from leaves(child)


def content_of(message, handle):
    """Returns the members `document` and `pages`; `handle(index)` gives the handle of a part. They
    depend on the bytes of the message alone, so that a message that moved is the same document."""
    mail = mail_of(message)
    subject, attachments, body = header(mail, "Subject"), [], False
    elements = [{"category": "Title", "text": subject}] if subject else []
    elements += [{"category": "EmailAddress", "text": header(mail, name), "metadata": {"header": name}}
                 for name in ("From", "To", "Cc") if header(mail, name)]
    pages = [{"elements": elements}]
    for index, part in enumerate(leaves(mail)):
        name, kind = clean(part.get_filename() or "") or None, part.get_content_maintype()
        mime_type = clean(part.get_content_type())
        if kind in ("text", "multipart"):  # a leaf that claims to have parts has lost its boundary
            if name or body:  # an attachment, or text after the body: a page of its own
                pages.append(present(title=name, elements=[]))
            body = body or not name
            pages[-1]["elements"] += [{"category": "NarrativeText", "text": text}
                                      for text in paragraphs(part)]
        elif kind == "image":
            blob = {"handle": handle(index), "size": len(part.get_payload(decode=True))}
            pages[-1]["elements"].append({"category": "Image", "mime_type": mime_type, "blob": blob,
                                          "metadata": present(file_name=name)})
        else:
            attachments.append(present(file_name=name, mime_type=mime_type))
    metadata = present(message_id=header(mail, "Message-ID"), in_reply_to=header(mail, "In-Reply-To"),
                       date=date_of(mail), attachments=attachments or None)
    return present(file_type="eml", title=subject, doc_metadata=metadata), pages


# ---- Rounds --------------------------------------------------------------------------------------

class Connector:
    """Answers requests. `check` raises when the answer to the present one is not wanted any more."""

    def initialize(self, params, check):
        if "dpe-connector/1" not in params["protocol_versions"]:
            raise Refused(-32004, "only dpe-connector/1 is spoken here")
        self.path = params["instance"]["config"].get("path")
        if not isinstance(self.path, str) or not os.path.isabs(self.path) or "\0" in self.path:
            raise Refused(-32005, "`path` has to be absolute: a mailbox, or a folder of mailboxes")
        self.prefix, self.limit = params["instance"]["uri_prefix"], params["max_message_bytes"]
        self.handles, self.last_blob, self.expected, self.scans = {}, (None, b""), None, 0
        return {"protocol_version": "dpe-connector/1", "plugin": IDENTITY,
                "capabilities": {"supports_cursor": True}}

    def scan(self, params, check):
        expected, self.expected = self.expected, None  # a scan that fails ends its round
        if params.get("next") is None:
            self.begin(params.get("cursor"), check)
        elif params["next"] != expected:
            raise Refused(-32602, "`next` is not, or no longer, of this round")
        items, room = [], self.limit - OVERHEAD
        while self.ahead and len(items) < (params.get("max_items") or 100):
            check()
            room -= len(packed(self.ahead)) + 1
            if room < 0 and items:
                break
            items.append(self.ahead)
            self.ahead = next(self.items, None)
        if not self.ahead and len(self.cursor or "") <= max(room, 0):
            return {"items": items, "cursor": self.cursor, "incremental": self.incremental}
        self.scans += 1
        self.expected = str(self.scans)
        return {"items": items, "next": self.expected}

    def begin(self, cursor, check):
        """Lists all messages first, so that moves and deletions are known. The cursor is that list.
        What has to be delivered is read a second time, one message after the other."""
        self.handles.clear()
        try:  # a cursor that cannot be used, or says something about another source, is no cursor
            scope, known = json.loads(zlib.decompress(base64.b64decode(cursor)))
            self.incremental = scope == [IDENTITY, self.prefix, self.path]
        except (TypeError, ValueError, zlib.error):
            self.incremental = False
        known = known if self.incremental else {}
        found, unread = self.listing(check)
        kept = {name: digest for name, digest in known.items() if name.startswith(tuple(unread))}
        kept.update((name, place[-1]) for name, place in found.items())
        state = packed([[IDENTITY, self.prefix, self.path], kept])
        self.cursor = base64.b64encode(zlib.compress(state)).decode()
        if len(self.cursor) > self.limit - OVERHEAD:
            self.cursor = None  # the runner keeps the one it has
        self.items = self.changes(known, found, unread)
        self.ahead = next(self.items, None)

    def listing(self, check):
        """Returns {name: place} of all messages, a name being what follows the prefix in a URI, and
        {beginning of names: error item} of the mailboxes that cannot be read."""
        found, unread = {}, {}
        try:
            boxes = mailboxes(self.path)
        except OSError as error:
            why = "%s: %s" % (clean(self.path), error.strerror or error)
            raise Refused(-32003, why, True)
        for box, path in sorted(boxes.items()):
            beginning, inside = quote(os.fsencode(box)) + "/", {}
            try:
                for offset, message in messages(path):
                    check()
                    digest = digest_of(message)
                    name = beginning + identity(message, digest)
                    if inside.get(name, (digest,))[-1] != digest:
                        name += ";" + digest  # another message of the same identity
                    inside.setdefault(name, (path, offset, len(message), digest))
                found.update(inside)
            except (OSError, ValueError) as error:
                unread[beginning] = self.error(beginning, error)
        return found, unread

    def changes(self, known, found, unread):
        """Yields the items that lead from what was known to what was found."""
        gone = {}
        for name, digest in known.items():
            if name not in found and not name.startswith(tuple(unread)):
                gone.setdefault(digest, []).append(name)
        moved = set()
        for name, place in found.items():
            if name not in known and gone.get(place[-1]):
                moved.add(name)
                origin = gone[place[-1]].pop()
                yield {"kind": "move", "from_uri": self.prefix + origin, "to_uri": self.prefix + name}
        for name in sorted(name for names in gone.values() for name in names):
            yield {"kind": "delete", "file_uri": self.prefix + name}
        yield from unread.values()
        for name, place in found.items():
            if name not in moved and known.get(name) != place[-1]:
                yield self.document(name, place)

    def document(self, name, place):
        def handle(index):
            self.handles["%s.%d" % (place[-1], index)] = place, index
            return "%s.%d" % (place[-1], index)
        try:
            document, pages = content_of(self.message(place), handle)
            item = {"kind": "document", "file_uri": self.prefix + name,
                    "document": document, "pages": pages}
            if len(packed(item)) > self.limit - OVERHEAD:
                raise ValueError("the message exceeds max_message_bytes")
            return item
        except Exception as error:  # whatever a message does to the parser, the others are delivered
            traceback.print_exc()
            return self.error(name, error)

    def error(self, name, error):
        system = isinstance(error, OSError)
        return {"kind": "error", "file_uri": self.prefix + name, "retryable": system,
                "code": "source_unavailable" if system else "content_invalid",
                "message": clean(system and error.strerror or str(error) or repr(error))}

    def message(self, place):
        path, offset, length, digest = place
        with open(path, "rb") as file:
            file.seek(offset)
            message = file.read(length)
        if digest_of(message) != digest:
            raise OSError("the mailbox changed while it was read")
        return message

    def read_blob(self, params, check):
        handle, offset = params["handle"], params.get("offset", 0)
        if handle not in self.handles:
            raise Refused(-32002, "no such handle in this round")
        if self.last_blob[0] != handle:
            place, index = self.handles[handle]
            try:  # the same bytes that were announced, or none
                part = list(leaves(mail_of(self.message(place))))[index]
            except OSError as error:
                raise Refused(-32003, error.strerror or str(error), True)
            self.last_blob = handle, part.get_payload(decode=True)
        end = offset + min(params["max_bytes"], (self.limit - OVERHEAD) * 3 // 4)
        data = base64.b64encode(self.last_blob[1][offset:end]).decode()
        return {"data": data, "eof": end >= len(self.last_blob[1])}


def identity(message, digest):
    """Returns what names a message in its mailbox: its Message-ID, or else its digest."""
    found = re.search(rb"(?im)^Message-ID:\s*<?([^\s<>]{1,500})>?\s*$", re.split(rb"\n\r?\n", message)[0])
    return quote(found.group(1), safe="@$+=") if found else "sha256-" + digest


# ---- The loop ------------------------------------------------------------------------------------

def packed(value):
    """Returns compact JSON, which never has a line end inside."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


class Loop:
    """Requests are read by a thread of their own: `cancel` and `shutdown` are seen during work."""

    def __init__(self):
        self.stdin, self.stdout = sys.stdin.buffer, sys.stdout.buffer
        sys.stdout = sys.stderr  # so that no stray `print` gets between the messages
        self.requests, self.unwanted, self.stopping = queue.Queue(), set(), False
        self.connector, self.limit, self.ready = Connector(), 64 << 20, False

    def read(self):
        for line in iter(lambda: self.stdin.readline(self.limit + 1), b""):
            if len(line) > self.limit:
                number = re.search(rb'"id":\s*(\d+)', line[:200])
                error = -32600, "the request exceeds max_message_bytes"
                self.requests.put((number and int(number.group(1)), None, error))
                while line and not line.endswith(b"\n"):
                    line = self.stdin.readline(1 << 16)
                continue
            try:
                message = json.loads(line)
                number, method, params = message.get("id"), message["method"], message.get("params", {})
                if method == "cancel":
                    self.unwanted.add(params["id"])
            except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
                code = -32700 if isinstance(error, ValueError) else -32600
                self.requests.put((None, None, (code, "not a request: %r" % error)))
                continue
            self.stopping = self.stopping or self.ready and method == "shutdown"
            if number is not None:
                self.requests.put((number, method, params))
        self.requests.put(None)
        time.sleep(1)
        os._exit(0)  # the runner is gone, and what is still being worked on is for nobody

    def run(self):
        threading.Thread(target=self.read, daemon=True).start()
        for number, method, params in iter(self.requests.get, None):
            try:
                self.answer(number, result=self.perform(number, method, params))
            except Refused as error:
                code, message, *retryable = error.args
                data = {"data": {"retryable": True}} if retryable else {}
                self.answer(number, error={"code": code, "message": message, **data})
            if method == "shutdown" and self.ready:
                return

    def perform(self, number, method, params):
        def check():
            if self.stopping or number in self.unwanted:
                raise Refused(-32001, "cancelled")
        if method is None:
            raise Refused(*params)
        if self.ready == (method == "initialize"):
            raise Refused(-32600, "`initialize` comes first, and once")
        if method == "shutdown":
            return {}
        if method not in ("initialize", "scan", "read_blob"):
            raise Refused(-32601, "no such method")
        try:
            result = getattr(self.connector, method)(params, check)
        except (KeyError, TypeError, AttributeError) as error:
            traceback.print_exc()
            raise Refused(-32602, "the parameters do not fit: %r" % error)
        self.limit, self.ready = self.connector.limit, True
        return result

    def answer(self, number, **outcome):
        self.stdout.write(packed({"jsonrpc": "2.0", "id": number, **outcome}) + b"\n")
        self.stdout.flush()


if __name__ == "__main__":
    Loop().run()
    os._exit(0)  # and not `sys.exit`, which would wait for the reading thread
