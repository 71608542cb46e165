// A binary workbook by SheetJS 0.18: npm install xlsx@0.18.5; node binary_workbook.js FOLDER
const path = require("path");
const XLSX = require("xlsx");

const herons = XLSX.utils.aoa_to_sheet([
  ["Heron", "Size", "Seen"],
  ["Grey", 1.02, new Date(Date.UTC(2024, 0, 2))],
  ["Great white", 0.5, null],
  ["Both", { t: "n", v: 1.52, f: "B2+B3" }],
  ["Line 1\nLine 2", true, { t: "e", v: 42 }],
], { cellDates: false });
herons["!merges"] = [XLSX.utils.decode_range("A6:C6")];
XLSX.utils.sheet_add_aoa(herons, [["Merged over three"]], { origin: "A6" });
const notes = XLSX.utils.aoa_to_sheet([["Größe & Maß"], ["日本"]]);

const book = XLSX.utils.book_new();
XLSX.utils.book_append_sheet(book, herons, "Herons");
XLSX.utils.book_append_sheet(book, notes, "Notes");
book.Props = { Title: "Herons", Author: "Ann Author", CreatedDate: new Date(Date.UTC(2024, 0, 3)) };
XLSX.writeFile(book, path.join(process.argv[2] || ".", "sheetjs.xlsb"), { bookType: "xlsb", compression: true });
