//! Formulas of Office Math to one line of text: fractions with a slash, exponents with `^`, indices with `_`, so that
//! what stands where can still be read.

use roxmltree::Node;

use crate::xml;

/// Returns the text of a formula (`m:oMath`, `m:oMathPara`).
pub(in crate::formats) fn text(formula: Node<'_, '_>) -> String {
    let mut line = String::new();
    write(formula, &mut line);
    line.trim().to_owned()
}

fn write(node: Node<'_, '_>, line: &mut String) {
    match node.tag_name().name() {
        "t" => word(line, node.text().unwrap_or_default()),
        "f" => {
            group(node, "num", line);
            line.push('/');
            group(node, "den", line);
        }
        "sSup" => scripted(node, &[("sup", '^')], line),
        "sSub" => scripted(node, &[("sub", '_')], line),
        "sSubSup" | "sPre" => scripted(node, &[("sub", '_'), ("sup", '^')], line),
        "limLow" => scripted(node, &[("lim", '_')], line),
        "limUpp" => scripted(node, &[("lim", '^')], line),
        "rad" => {
            if let Some(degree) = xml::child(node, "deg").map(text)
                && !degree.is_empty()
            {
                word(line, &degree);
            }
            line.push('√');
            group(node, "e", line);
        }
        "nary" => {
            line.push_str(character(node, "naryPr", "chr").unwrap_or("∫"));
            scripts(node, &[("sub", '_'), ("sup", '^')], line);
            line.push(' ');
            below(node, "e", line);
        }
        "d" => delimited(node, line),
        "mr" => {
            separated(node, "e", ", ", line);
            line.push_str("; ");
        }
        "eqArr" => separated(node, "e", "; ", line),
        "acc" => {
            below(node, "e", line);
            line.push_str(character(node, "accPr", "chr").unwrap_or("\u{302}"));
        }
        "rPr" | "ctrlPr" | "del" | "moveFrom" => {}
        "br" => line.push('\n'),
        _ => node
            .children()
            .filter(Node::is_element)
            .for_each(|child| write(child, line)),
    }
}

/// Words that meet would be read as one.
fn word(line: &mut String, text: &str) {
    if line.ends_with(char::is_alphanumeric) && text.starts_with(char::is_alphanumeric) {
        line.push(' ');
    }
    line.push_str(text);
}

fn scripted(node: Node<'_, '_>, parts: &[(&str, char)], line: &mut String) {
    below(node, "e", line);
    scripts(node, parts, line);
}

fn scripts(node: Node<'_, '_>, parts: &[(&str, char)], line: &mut String) {
    for (part, mark) in parts {
        let part = xml::child(node, part).map(text).unwrap_or_default();
        if !part.is_empty() {
            line.push(*mark);
            grouped(&part, line);
        }
    }
}

fn group(node: Node<'_, '_>, part: &str, line: &mut String) {
    let part = xml::child(node, part).map(text).unwrap_or_default();
    grouped(&part, line);
}

/// Writes a part, in parentheses if it is more than one word.
fn grouped(part: &str, line: &mut String) {
    if part.chars().all(char::is_alphanumeric) {
        word(line, part);
    } else {
        line.push('(');
        line.push_str(part);
        line.push(')');
    }
}

fn below(node: Node<'_, '_>, part: &str, line: &mut String) {
    for part in node.children().filter(|child| xml::is(*child, part)) {
        write(part, line);
    }
}

fn separated(node: Node<'_, '_>, part: &str, separator: &str, line: &mut String) {
    for (index, part) in node
        .children()
        .filter(|child| xml::is(*child, part))
        .enumerate()
    {
        if index > 0 {
            line.push_str(separator);
        }
        write(part, line);
    }
}

fn delimited(node: Node<'_, '_>, line: &mut String) {
    line.push_str(character(node, "dPr", "begChr").unwrap_or("("));
    let separator = character(node, "dPr", "sepChr").unwrap_or("|");
    separated(node, "e", separator, line);
    line.push_str(character(node, "dPr", "endChr").unwrap_or(")"));
}

fn character<'n>(node: Node<'n, '_>, properties: &str, name: &str) -> Option<&'n str> {
    let properties = node.children().find(|child| xml::is(*child, properties))?;
    let character = properties.children().find(|child| xml::is(*child, name))?;
    xml::attribute(character, "val")
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn a_formula_is_one_line() {
        let source = "<m:oMath xmlns:m='m'><m:r><m:t>x</m:t></m:r><m:r><m:t>=</m:t></m:r><m:f><m:num><m:r><m:t>a+b</m:t></m:r>\
            </m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f><m:rad><m:deg/><m:e><m:sSup><m:e><m:r><m:t>c</m:t></m:r></m:e>\
            <m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup></m:e></m:rad><m:nary><m:naryPr><m:chr m:val='∑'/></m:naryPr><m:sub>\
            <m:r><m:t>i</m:t></m:r></m:sub><m:sup/><m:e><m:r><m:t>sin</m:t></m:r><m:r><m:t>i</m:t></m:r></m:e></m:nary></m:oMath>";
        let tree = roxmltree::Document::parse(source).unwrap();
        assert_eq!(text(tree.root_element()), "x=(a+b)/2√(c^2)∑_i sin i");
    }
}
