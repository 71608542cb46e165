#!/usr/bin/env python3
"""Makes the case of a message of Outlook, with the library aspose-email-foss 26.3 (PyPI). Run in tests/cases/mail."""

from datetime import datetime, timezone
from email.message import EmailMessage

from aspose.email_foss import msg

GIF = bytes.fromhex("47494638396101000100000000002c00000000010001000002024401003b")


def mail(subject, sender, to):
    message = EmailMessage()
    message["From"] = sender
    message["To"] = to
    message["Subject"] = subject
    message["Date"] = datetime(2024, 2, 2, 9, 30, tzinfo=timezone.utc)
    return message


inner = mail("Inner one", "dan@example.net", "ann@example.com")
inner.set_content("Inner text.\n")

outer = mail("Grüße aus Köln", "Änne Müller <aenne@example.com>", "Bob <bob@example.org>")
outer.set_content("Hello Bob,\n\nsee the plan.\n")
outer.add_alternative("<h1>Hello Bob,</h1><p>see the <a href='https://example.com/plan'>plan</a>.</p>", subtype="html")
outer.add_attachment("a,b\n1,2\n", subtype="csv", filename="table.csv")
outer.add_attachment(GIF, "image", "gif", filename="dot.gif")
outer.add_attachment(inner, filename="earlier.msg")

with msg.MapiMessage.from_email_message(outer) as message:
    message.save("outlook.msg")
