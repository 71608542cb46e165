"""Makes workbook.xlsx of the cases in sheets/, with openpyxl; office.sh makes the other forms of it."""

import datetime
import sys

from openpyxl import Workbook
from openpyxl.comments import Comment
from openpyxl.drawing.image import Image
from openpyxl.worksheet.table import Table

out, picture = sys.argv[1:3]
book = Workbook()
book.properties.creator = "Ann Example"
book.properties.title = "Stoff für Proben"
book.properties.keywords = "alpha, beta"
book.properties.created = book.properties.modified = datetime.datetime(2020, 1, 2, 3, 4, 5)

values = book.active
values.title = "Größen"
rows = [
    ("Name", "Wert", "Tag"),
    ("ä", 3.0, datetime.date(2020, 1, 2)),
    ("b <c>", 0.1, datetime.datetime(2020, 1, 2, 3, 4, 5)),
    ("two\nlines", True, datetime.time(12, 30)),
    ("long", -1234567.25, datetime.timedelta(hours=27, minutes=4)),
]
for row in rows:
    values.append(row)
values.add_table(Table(displayName="Values", ref="A1:C5"))
values["A2"].comment = Comment("What is said of it", "Bob")
values["A3"].hyperlink = "https://example.org/a?b=1"
values["E8"] = "across"
values.merge_cells("E8:F9")
values["G9"] = "beside"
values.oddHeader.left.text = "Left && right"
values.oddFooter.center.text = "Page &P of the book"
values.add_image(Image(picture), "I1")

book.create_sheet("Empty")
far = book.create_sheet("Far")
far.sheet_state = "hidden"
far["B2"] = "near"
far["IV65536"] = "far"
book.save(out)
