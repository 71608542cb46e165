#!/usr/bin/env python3
"""Makes the cases of PDF, EPUB, ZIP and pictures: paged.py FOLDER-OF-CASES

Needs pandoc, LibreOffice, PyMuPDF and Pillow. Run by people, never by tests; what they made is committed."""
import io, os, pathlib, subprocess, sys, tempfile, zipfile

import pymupdf
from PIL import Image, PngImagePlugin

CASES = pathlib.Path(sys.argv[1])
for name in ('pdf', 'epub', 'zip', 'image'):
    (CASES / name).mkdir(exist_ok=True)

TEXT = '''---
title: The tide tables
author: Ada Moss
lang: en-GB
subject: Water
keywords: [tides, moon]
---

# Spring tides

The moon and the sun pull along one line, and so
the water rises higher than on other days.

- New moon
- Full moon

| Port | Height |
|------|--------|
| Dover | 6.8 |
| Leith | 5.6 |

![A chart](chart.png)

# Neap tides

They pull against each other.
'''


def picture(colour, size=(24, 16)):
    return Image.new('RGB', size, colour)


def png(image):
    out = io.BytesIO()
    image.save(out, 'PNG')
    return out.getvalue()


def run(*command, **more):
    subprocess.run([str(part) for part in command], check=True, **more)


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    (folder / 'chart.png').write_bytes(png(picture('navy')))
    (folder / 'tides.md').write_text(TEXT)
    without_table = ''.join(line for line in TEXT.splitlines(True) if not line.startswith('|'))
    (folder / 'plain.md').write_text(without_table)
    run('pandoc', 'plain.md', '-o', 'tides.odt', cwd=folder)
    run('soffice', '--headless', '--convert-to',
        'pdf:writer_pdf_Export:{"UseTaggedPDF":{"type":"boolean","value":"true"}}', '--outdir', folder, folder / 'tides.odt', stdout=subprocess.DEVNULL)
    (CASES / 'pdf/libreoffice.pdf').write_bytes((folder / 'tides.pdf').read_bytes())
    run('pandoc', 'tides.md', '-o', 'tides.epub', '--epub-chapter-level=1', cwd=folder,
        env=dict(os.environ, SOURCE_DATE_EPOCH='1500000000'))
    (CASES / 'epub/pandoc.epub').write_bytes((folder / 'tides.epub').read_bytes())

# Two pages with labels, one picture on both, a blank page, a stencil and an indexed picture.
document = pymupdf.open()
for number in range(3):
    page = document.new_page(width=300, height=200)
    if number < 2:
        page.insert_text((20, 30), f'Leaf {number + 1} of two', fontsize=11)
        page.insert_image(pymupdf.Rect(20, 50, 80, 90), stream=png(picture('red')))
palette = picture('green').convert('P')
document[0].insert_image(pymupdf.Rect(100, 50, 160, 90), stream=png(palette))
document.set_page_labels([{'startpage': 0, 'style': 'r', 'firstpagenum': 4}, {'startpage': 2, 'prefix': 'A-', 'style': 'D'}])
document.set_metadata({'title': 'Leaves', 'author': 'Björk', 'keywords': 'a, b', 'creationDate': "D:20240229123000+01'00'"})
document.save(CASES / 'pdf/labels.pdf', garbage=4, deflate=True, no_new_id=True)
document.save(CASES / 'pdf/password.pdf', encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw='x', owner_pw='y')
document.save(CASES / 'pdf/owner_password.pdf', encryption=pymupdf.PDF_ENCRYPT_AES_128, user_pw='', owner_pw='y')
scan = pymupdf.open()
scan.new_page(width=100, height=100).insert_image(pymupdf.Rect(0, 0, 100, 100), stream=png(picture('white').convert('1')))
scan.save(CASES / 'pdf/scan.pdf', deflate=True)
form = pymupdf.open()
page = form.new_page(width=300, height=200)
page.insert_text((20, 30), 'Your name', fontsize=11)
widget = pymupdf.Widget()
widget.rect = pymupdf.Rect(90, 15, 250, 40)
widget.field_type = pymupdf.PDF_WIDGET_TYPE_TEXT
widget.field_name = 'name'
widget.field_value = 'Grace Hopper'
page.add_widget(widget)
page.add_text_annot((200, 100), 'Please check')
page.add_freetext_annot(pymupdf.Rect(20, 60, 200, 80), 'Stuck on')
form.save(CASES / 'pdf/form.pdf', deflate=True)

with zipfile.ZipFile(CASES / 'zip/folder.zip', 'w', zipfile.ZIP_DEFLATED) as archive:
    def add(name, content):
        entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
        entry.compress_type = zipfile.ZIP_DEFLATED
        archive.writestr(entry, content)
    add('notes/', b'')
    add('notes/today.md', b'---\ntitle: Today\nauthor: Eve\n---\nSome *text*.\n')
    add('notes/plain.txt', b'Plain words.\n')
    add('__MACOSX/notes/._plain.txt', b'\0\5\x16\7')
    add('tool.exe', b'MZ\0\0')
    add('broken.json', b'{')
    add('dot.png', png(picture('red', (9, 9))))
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, 'w') as nested:
        nested.writestr(zipfile.ZipInfo('deep.txt', (2020, 1, 1, 0, 0, 0)), 'Deep words.\n')
    add('inner.zip', inner.getvalue())

info = PngImagePlugin.PngInfo()
info.add_text('Title', 'A square')
info.add_itxt('Description', 'Größer als ein Punkt')
picture('red', (5, 5)).save(CASES / 'image/described.png', pnginfo=info)
exif = Image.Exif()
exif[0x010E] = 'The harbour at low tide'
exif[0x010F] = 'Some maker'
picture('blue', (8, 6)).save(CASES / 'image/described.jpg', exif=exif)
