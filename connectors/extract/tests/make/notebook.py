#!/usr/bin/env python3
"""Makes the case of a notebook, with the library of the format itself (nbformat). Run in tests/cases/notebook."""

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output, new_raw_cell

GIF = "R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs="

notebook = new_notebook(
    metadata={
        "kernelspec": {"name": "python3", "language": "python", "display_name": "Python 3"},
        "authors": [{"name": "Ann"}, {"name": "Bob"}],
    },
    cells=[
        new_markdown_cell("# Heading\n\nSome *words* ![dot](attachment:dot.gif)", attachments={"dot.gif": {"image/gif": GIF}}),
        new_code_cell(
            "print(1)\nframe",
            execution_count=7,
            outputs=[
                new_output("stream", name="stdout", text="one\x1b[0;31m red\x1b[0m\n"),
                new_output(
                    "execute_result",
                    execution_count=7,
                    data={
                        "text/html": "<style>p {}</style><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>",
                        "text/plain": "   a  b\n0  1  2",
                    },
                ),
                new_output("display_data", data={"image/gif": GIF, "text/plain": "<Figure size 1x1>"}),
            ],
        ),
        new_code_cell(
            "%%bash\nfalse",
            outputs=[new_output("error", ename="Failure", evalue="went wrong", traceback=["\x1b[31mline 1\x1b[0m", "Failure: went wrong"])],
        ),
        new_raw_cell("raw words"),
    ],
)
nbformat.write(notebook, "notebook.ipynb")

old = nbformat.v3.new_notebook(
    worksheets=[
        nbformat.v3.new_worksheet(
            cells=[
                nbformat.v3.new_heading_cell("Old heading", level=2),
                nbformat.v3.new_code_cell(
                    input="1 + 1", prompt_number=3, outputs=[nbformat.v3.new_output("pyout", output_text="2", prompt_number=3)]
                ),
            ]
        )
    ]
)
with open("format3.ipynb", "w") as file:
    file.write(nbformat.v3.writes_json(old))
