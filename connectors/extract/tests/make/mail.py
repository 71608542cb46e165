#!/usr/bin/env python3
"""Makes the cases of mail, with Python's own email and mailbox libraries. Run in tests/cases/mail."""

import mailbox
import os
from email.message import EmailMessage
from email.policy import SMTP, default

GIF = bytes.fromhex("47494638396101000100000000002c00000000010001000002024401003b")


def envelope(subject, sender="Ann Example <ann@example.com>", to="Bob <bob@example.org>, carol@example.org"):
    message = EmailMessage()
    message["From"] = sender
    message["To"] = to
    message["Subject"] = subject
    message["Date"] = "Fri, 02 Feb 2024 10:30:00 +0100"
    return message


def write(name, message, policy=SMTP):
    with open(name, "wb") as file:
        file.write(message.as_bytes(policy=policy))


def alternative():
    message = envelope("Grüße aus Köln", sender="Änne Müller <aenne@example.com>")
    message.set_content("Hello Bob,\n\nsee the plan: https://example.com/plan\n")
    message.add_alternative(
        "<h1>Hello Bob,</h1><p>see the <a href='https://example.com/plan'>plan</a>:"
        "<img src='cid:dot@example.com' alt='a dot'></p>",
        subtype="html",
    )
    message.get_payload()[1].add_related(GIF, "image", "gif", cid="<dot@example.com>", filename="dot.gif")
    write("alternative.eml", message)


def notice():
    message = envelope("Notice")
    message.set_content("The words are here only.\n")
    message.add_alternative("<p>Your program cannot show this.</p>", subtype="html")
    write("notice.eml", message)


def attachments():
    inner = envelope("The inner one", sender="dan@example.net", to="ann@example.com")
    inner.set_content("Inner text.\n")
    message = envelope("With files")
    message["Cc"] = "Team: eve@example.com, Fay <fay@example.com>;"
    message.set_content("Files follow.\n")
    message.add_attachment("a,b\n1,2\n", subtype="csv", filename="table.csv")
    message.add_attachment(GIF, "image", "gif", filename="dot.gif")
    message.add_attachment(inner)
    message.add_attachment(b"\0\1\2\3", "application", "octet-stream", filename="strange.bin")
    write("attachments.eml", message)


def old_encodings():
    lines = [
        b"From: \xc9\xd7\xc1\xce <ivan@example.com>",
        b"Subject: \xf0\xd2\xc9\xd7\xc5\xd4 \xd7\xd3\xc5\xcd",
        b"Content-Type: text/plain; charset=koi8-r",
        b"",
        "Привет, мир".encode("koi8-r"),
        b"",
    ]
    with open("koi8.eml", "wb") as file:
        file.write(b"\r\n".join(lines))


def sealed():
    message = envelope("Secret")
    message.set_content(b"0\x80\x06\x09", "application", "pkcs7-mime", params={"smime-type": "enveloped-data", "name": "smime.p7m"})
    write("sealed.eml", message)


def messages():
    if os.path.exists("two.mbox"):
        os.remove("two.mbox")
    box = mailbox.mbox("two.mbox")
    for number, text in (("One", "First text.\n"), ("Two", "From the second text.\n")):
        message = envelope(number, to="list@example.org")
        message.set_content(text)
        entry = mailbox.mboxMessage(message)
        entry.set_from("ann@example.com Fri Feb  2 10:30:00 2024")
        box.add(entry)
    box.flush()


for make in (alternative, notice, attachments, old_encodings, sealed, messages):
    make()
