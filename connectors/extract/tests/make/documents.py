#!/usr/bin/env python3
"""Makes the files of the cases docx, pptx, odt and odp, with pandoc, LibreOffice, python-docx and python-pptx:
    python3 tests/make/documents.py   (in connectors/extract)
What is expected of them (the .json files) is written by hand."""
import base64, datetime, io, os, pathlib, subprocess, tempfile, zipfile

import docx, docx.shared
import pptx, pptx.chart.data, pptx.util
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from pptx.enum.chart import XL_CHART_TYPE

CASES = pathlib.Path(__file__).resolve().parent.parent / 'cases'
PNG = base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGP4z8AARAwQCgAf7gP9i18U1AAAAABJRU5ErkJggg==')
TIME = datetime.datetime(2024, 5, 6, 7, 8, 9)

MARKDOWN = """---
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

> Quoted words.

```
let x = 1;
```

$$x = \\frac{a + b}{2}$$

A note.[^1]

[^1]: What the note says.

![A red dot](dot.png)
"""


def office(target, source, folder):
    subprocess.run(['soffice', f'-env:UserInstallation=file://{folder}/profile', '--headless', '--norestore', '--convert-to', target,
                    '--outdir', str(CASES / target), str(source)], check=True, stdout=subprocess.DEVNULL)


def repack(path):
    """Without what differs from run to run."""
    with zipfile.ZipFile(path) as old:
        entries = [(entry.filename, old.read(entry)) for entry in old.infolist()]
    with zipfile.ZipFile(path, 'w', zipfile.ZIP_DEFLATED) as new:
        for name, data in entries:
            if 'thumbnail' not in name.lower():
                new.writestr(zipfile.ZipInfo(name, (2024, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)


def by_pandoc(folder):
    (folder / 'text.md').write_text(MARKDOWN)
    (folder / 'dot.png').write_bytes(PNG)
    for target in ('docx', 'odt'):
        subprocess.run(['pandoc', 'text.md', '-o', str(CASES / target / f'pandoc.{target}')], check=True, cwd=folder,
                       env={**os.environ, 'SOURCE_DATE_EPOCH': '1714979289'})


def by_python_docx():
    document = docx.Document()
    document.core_properties.title = 'Report'
    document.core_properties.author = 'Ann Example'
    document.core_properties.subject = 'Samples'
    document.core_properties.comments = ''
    document.core_properties.created = document.core_properties.modified = TIME
    document.add_heading('Annual report', 0)
    document.add_heading('Numbers', 1)
    table = document.add_table(rows=3, cols=3)
    for row in range(3):
        for column in range(3):
            table.cell(row, column).text = f'{row}.{column}'
    table.cell(0, 0).merge(table.cell(0, 1)).text = 'wide'
    table.cell(1, 2).merge(table.cell(2, 2)).text = 'tall'
    repeat = OxmlElement('w:tblHeader')
    table.rows[0]._tr.get_or_add_trPr().append(repeat)
    document.add_paragraph('first', style='List Bullet')
    document.add_paragraph('counted', style='List Number 2')
    document.add_paragraph('A wise word.', style='Quote')
    document.add_picture(io.BytesIO(PNG), width=docx.shared.Pt(20))
    document.inline_shapes[0]._inline.docPr.set('descr', 'A red dot')
    document.add_paragraph('Figure 1', style='Caption')
    document.add_page_break()
    document.add_paragraph('On the second page.\tAfter a tab\nand a line.')
    section = document.sections[0]
    section.header.paragraphs[0].text = 'Company'
    section.footer.paragraphs[0].text = 'Confidential'
    document.save(CASES / 'docx' / 'python.docx')


W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
ALL = W + ''.join(f' xmlns:{prefix}="{name}"' for prefix, name in {
    'r': 'http://schemas.openxmlformats.org/officeDocument/2006/relationships',
    'mc': 'http://schemas.openxmlformats.org/markup-compatibility/2006',
    'wps': 'http://schemas.microsoft.com/office/word/2010/wordprocessingShape',
    'wp': 'http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing',
    'a': 'http://schemas.openxmlformats.org/drawingml/2006/main',
    'v': 'urn:schemas-microsoft-com:vml'}.items())
TEXT_BOX = '<w:txbxContent><w:p><w:r><w:t>In the box.</w:t></w:r></w:p></w:txbxContent>'


def run(text):
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


def field(kind):
    return f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>'


def by_hand():
    """What the libraries cannot write: review, fields, comments, text boxes, content controls, symbols."""
    body = ''.join(f'<w:p>{paragraph}</w:p>' for paragraph in [
        run('Kept ') + '<w:ins w:id="1" w:author="B">' + run('inserted ') + '</w:ins><w:del w:id="2" w:author="B"><w:r>'
        '<w:delText>deleted</w:delText></w:r></w:del>' + run('end.'),
        run('See ') + field('begin') + '<w:r><w:instrText> HYPERLINK "https://example.org/x" </w:instrText></w:r>' + field('separate')
        + run('there') + field('end') + run('.'),
        run('Page ') + field('begin') + '<w:r><w:instrText>PAGE</w:instrText></w:r>' + field('separate') + run('7') + field('end')
        + '<w:r><w:noBreakHyphen/><w:softHyphen/></w:r>' + run('x') + '<w:r><w:sym w:font="Symbol" w:char="F061"/></w:r>',
        field('begin') + run('never ended'),
        run('Noted') + '<w:r><w:footnoteReference w:id="5"/></w:r>' + run(' and ended') + '<w:r><w:endnoteReference w:id="3"/></w:r>'
        + run('.') + '<w:r><w:commentReference w:id="0"/></w:r>',
        run('Beside a box.') + '<w:r><mc:AlternateContent><mc:Choice Requires="wps"><w:drawing><wp:anchor><a:graphic><a:graphicData>'
        f'<wps:wsp><wps:txbx>{TEXT_BOX}</wps:txbx></wps:wsp></a:graphicData></a:graphic></wp:anchor></w:drawing></mc:Choice><mc:Fallback>'
        f'<w:pict><v:shape><v:textbox>{TEXT_BOX}</v:textbox></v:shape></w:pict></mc:Fallback></mc:AlternateContent></w:r>',
    ])
    body += '<w:sdt><w:sdtPr/><w:sdtContent><w:p>' + run('In a control.') + '</w:p></w:sdtContent></w:sdt>'
    body += ('<w:p><w:pPr><w:outlineLvl w:val="1"/></w:pPr>' + run('By its level') + '</w:p>'
             '<w:p><w:pPr><w:pageBreakBefore/></w:pPr>' + run('Next') + '</w:p>'
             '<w:tbl><w:tr><w:tc><w:p>' + run('framed') + '</w:p></w:tc></w:tr></w:tbl>'
             '<w:p><w:pPr><w:sectPr><w:type w:val="continuous"/></w:sectPr></w:pPr>' + run('One section.') + '</w:p>'
             '<w:p>' + run('Another.') + '</w:p>')
    code = '<w:p><w:pPr><w:pStyle w:val="Code"/></w:pPr>{}</w:p>'
    body += code.format(run('if x:')) + code.format('') + code.format(run('    y()')) + '<w:sectPr/>'
    kinds = ['footnotes', 'endnotes', 'comments', 'styles']
    office = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
    package = 'http://schemas.openxmlformats.org/package/2006/'
    relation = '<Relationship Id="r{}" Type="' + office + '/{}" Target="{}"/>'
    parts = {
        '[Content_Types].xml': f'<Types xmlns="{package}content-types"><Default Extension="xml" ContentType="application/xml"/><Override '
        'PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>',
        '_rels/.rels': f'<Relationships xmlns="{package}relationships">' + relation.format(1, 'officeDocument', 'word/document.xml')
        + '</Relationships>',
        'word/_rels/document.xml.rels': f'<Relationships xmlns="{package}relationships">'
        + ''.join(relation.format(i, kind, kind + '.xml') for i, kind in enumerate(kinds)) + '</Relationships>',
        'word/document.xml': f'<w:document {ALL}><w:body>{body}</w:body></w:document>',
        'word/footnotes.xml': f'<w:footnotes {W}><w:footnote w:id="0" w:type="separator"><w:p/></w:footnote><w:footnote w:id="5"><w:p><w:r>'
        '<w:footnoteRef/></w:r>' + run(' At the foot.') + '</w:p></w:footnote></w:footnotes>',
        'word/endnotes.xml': f'<w:endnotes {W}><w:endnote w:id="3"><w:p>' + run('At the end.') + '</w:p></w:endnote></w:endnotes>',
        'word/styles.xml': f'<w:styles {W}><w:style w:type="paragraph" w:styleId="Code"><w:name w:val="HTML Preformatted"/></w:style></w:styles>',
        'word/comments.xml': f'<w:comments {W}><w:comment w:id="0" w:author="Carl" w:date="2024-01-02T03:04:05Z"><w:p>' + run('Is that so?')
        + '</w:p></w:comment></w:comments>',
    }
    with zipfile.ZipFile(CASES / 'docx' / 'review.docx', 'w', zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(zipfile.ZipInfo(name, (2024, 1, 1, 0, 0, 0)), text, zipfile.ZIP_DEFLATED)


def by_python_pptx():
    show = pptx.Presentation()
    show.core_properties.title = 'Show'
    show.core_properties.author = 'Ann Example'
    show.core_properties.created = show.core_properties.modified = TIME
    first = show.slides.add_slide(show.slide_layouts[0])
    first.shapes.title.text = 'A show'
    first.placeholders[1].text = 'of samples'
    second = show.slides.add_slide(show.slide_layouts[1])
    second.shapes.title.text = 'Points'
    frame = second.placeholders[1].text_frame
    frame.text = 'one'
    inner = frame.add_paragraph()
    inner.text, inner.level = 'inner', 1
    link = frame.add_paragraph().add_run()
    link.text, link.hyperlink.address = 'linked', 'https://example.org/'
    second.notes_slide.notes_text_frame.text = 'Say hello.'
    third = show.slides.add_slide(show.slide_layouts[6])
    table = third.shapes.add_table(2, 2, 0, 0, pptx.util.Pt(200), pptx.util.Pt(50)).table
    for row, texts in enumerate([('Name', 'Size'), ('a', '1')]):
        for column, text in enumerate(texts):
            table.cell(row, column).text = text
    picture = third.shapes.add_picture(io.BytesIO(PNG), 0, pptx.util.Pt(100))
    picture._element.nvPicPr.cNvPr.set('descr', 'A red dot')
    group = third.shapes.add_group_shape()
    group.shapes.add_textbox(0, 0, pptx.util.Pt(50), pptx.util.Pt(20)).text_frame.text = 'in a group'
    data = pptx.chart.data.CategoryChartData()
    data.categories = ['east', 'west']
    data.add_series('2023', (1.5, 2))
    chart = third.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, 0, 0, pptx.util.Pt(200), pptx.util.Pt(100), data).chart
    chart.has_title = True
    chart.chart_title.text_frame.text = 'By region'
    show.slides.add_slide(show.slide_layouts[6])
    show.save(CASES / 'pptx' / 'python.pptx')


def main():
    for target in ('docx', 'odt', 'pptx', 'odp'):
        (CASES / target).mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        by_pandoc(folder)
        by_python_docx()
        by_hand()
        by_python_pptx()
        office('odt', CASES / 'docx' / 'python.docx', folder)
        office('odp', CASES / 'pptx' / 'python.pptx', folder)
    for path in CASES.glob('*/p*.[dop][dop]*'):
        if path.suffix in ('.docx', '.odt', '.pptx', '.odp'):
            repack(path)


if __name__ == '__main__':
    main()
