"""A worker of the tests: speaks the worker protocol, and does to a file what the file says."""

import json
import os
import signal
import struct
import sys
import time

FROM, TO = sys.stdin.buffer, sys.stdout.buffer
served = 0


def exactly(length):
    data = FROM.read(length)
    if len(data) < length:
        sys.exit(0)
    return data


def frame(value):
    head = json.dumps(value).encode()
    return struct.pack("<I", len(head)) + head


def document(text, blobs=()):
    return frame({"document": {
        "head": {"file_type": "md"},
        "pages": [{"elements": [{"category": "NarrativeText", "text": text}]}],
        "notes": [],
        "blobs": [len(blob) for blob in blobs],
    }}) + b"".join(blobs)


def say(data):
    TO.write(data)
    TO.flush()


while True:
    (length,) = struct.unpack("<I", exactly(4))
    request = json.loads(exactly(length))
    exactly(request["name_bytes"])
    text = exactly(request["file_bytes"]).decode()
    order = text.split()[0]
    if order == "exit":
        sys.exit(7)
    elif order == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    elif order == "once":
        mark = text.split()[1]
        if not os.path.exists(mark):
            open(mark, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        say(document("twice"))
    elif order == "loop":
        while True:
            pass
    elif order == "sleep":
        time.sleep(3600)
    elif order == "memory":
        print("memory allocation of 99 bytes failed", file=sys.stderr, flush=True)
        os.abort()
    elif order == "noise":
        print("x" * 500_000, file=sys.stderr, flush=True)
        say(document("quiet"))
    elif order == "garbage":
        say(frame({"document": {"pages": 7}}))
    elif order == "rubbish":
        say(b"\xff" * 100)
    elif order == "half":
        say(document("half")[:-3])
        sys.exit(0)
    elif order == "silent":
        os.close(1)
        time.sleep(3600)
    elif order == "flood":
        say(frame({"document": {"head": {"file_type": "md"}, "pages": [], "notes": [],
                                "blobs": [1 << 60]}}))
        while True:
            say(b"x" * 65536)
    elif order == "tired":
        # Well once; whoever comes next finds it dead.
        if served:
            os.abort()
        say(document(f"{os.getpid()} {served}"))
    elif order == "refuse":
        say(frame({"refused": {"reason": "encrypted", "message": "a password"}}))
    elif order == "broken":
        say(frame({"broken": {"reason": "parser_failed", "message": "a defect"}}))
    else:
        say(document(f"{os.getpid()} {served}"))
    served += 1
