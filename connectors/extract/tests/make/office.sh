#!/bin/sh
# Makes the files of the cases rtf, doc, sheets and ppt with pandoc, openpyxl and LibreOffice:
#   sh tests/make/office.sh   (in connectors/extract; PYTHON=… if openpyxl is elsewhere)
# What is expected of them (the .json files) is written by hand.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cases=$here/../cases
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
office() { soffice "-env:UserInstallation=file://$work/profile" --headless --norestore --convert-to "$1" --outdir "$work/out" "$2" >/dev/null; }

base64 -d > "$work/dot.png" <<'PNG'
iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGP4z8AARAwQCgAf7gP9i18U1AAAAABJRU5ErkJggg==
PNG
cat > "$work/text.md" <<'MD'
---
title: Stoff für Proben
author: Ann Example
keywords: [alpha, beta]
description: A text in many formats
---

# Grüße

First *paragraph* with a [link](https://example.org/a?b=1) and “quotes” – Ελληνικά, кириллица, 漢字.

- one
- two
    1. inner first
    2. inner second

## Table

| Name | Größe |
|------|-------|
| a    | 1     |
| b    | 22    |

A note.[^1]

[^1]: What the note says.

![A red dot](dot.png)
MD
(cd "$work" && pandoc text.md -o text.odt)
office rtf "$work/text.odt"
office doc "$work/text.odt"
cp "$work/out/text.rtf" "$cases/rtf/libreoffice.rtf"
cp "$work/out/text.doc" "$cases/doc/libreoffice.doc"
(cd "$work" && pandoc -s -M title='Stoff für Proben' text.md -o "$cases/rtf/pandoc.rtf")

"${PYTHON:-python3}" "$here/sheets.py" "$cases/sheets/openpyxl.xlsx" "$work/dot.png"
cp "$cases/sheets/openpyxl.xlsx" "$work/book.xlsx"
for form in xls ods xlsx; do
    office $form "$work/book.xlsx"
    cp "$work/out/book.$form" "$cases/sheets/libreoffice.$form"
done

cat > "$work/slides.md" <<'MD'
---
title: Stoff für Proben
author: Ann Example
---

# First slide

- one
    - two “inner”
- кириллица

::: notes
What the speaker says.
:::

# Second slide

| Name | Größe |
|------|-------|
| a    | 1     |

# Third slide

![A red dot](dot.png)
MD
(cd "$work" && pandoc slides.md -o slides.pptx)
# By way of ODP, for LibreOffice packs the themes of PPTX into PPT.
office odp "$work/slides.pptx"
office ppt "$work/out/slides.odp"
cp "$work/out/slides.ppt" "$cases/ppt/libreoffice.ppt"
