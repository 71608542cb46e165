//! MathML to one line of text: fractions with a slash, exponents with `^`, indices with `_`.

use roxmltree::Node;

/// Returns the text of a formula.
pub(super) fn text(formula: Node<'_, '_>) -> String {
    let mut line = String::new();
    write(formula, &mut line);
    line.trim().to_owned()
}

fn write(node: Node<'_, '_>, line: &mut String) {
    let parts: Vec<Node<'_, '_>> = node.children().filter(Node::is_element).collect();
    match (node.tag_name().name(), &parts[..]) {
        ("annotation" | "annotation-xml", _) => {}
        ("mi" | "mn" | "mo" | "mtext" | "ms" | "ci" | "cn", _) => {
            let word = node.text().unwrap_or_default().trim();
            if line.ends_with(char::is_alphanumeric) && word.starts_with(char::is_alphanumeric) {
                line.push(' ');
            }
            line.push_str(word);
        }
        ("mfrac", [above, below]) => joined(&[*above, *below], &["/"], line),
        ("msup" | "mover", [base, above]) => joined(&[*base, *above], &["^"], line),
        ("msub" | "munder", [base, below]) => joined(&[*base, *below], &["_"], line),
        ("msubsup" | "munderover", [base, below, above]) => {
            joined(&[*base, *below, *above], &["_", "^"], line);
        }
        ("mroot", [base, degree]) => joined(&[*degree, *base], &["√"], line),
        ("msqrt", _) => {
            line.push_str("√(");
            parts.iter().for_each(|part| write(*part, line));
            line.push(')');
        }
        ("mtr" | "mlabeledtr", _) => {
            parts.iter().for_each(|part| {
                write(*part, line);
                line.push_str(", ");
            });
            line.truncate(line.trim_end_matches([',', ' ']).len());
            line.push_str("; ");
        }
        _ => parts.iter().for_each(|part| write(*part, line)),
    }
}

/// Writes parts with marks between them, in parentheses where they are more than one word.
fn joined(parts: &[Node<'_, '_>], marks: &[&str], line: &mut String) {
    for (number, part) in parts.iter().enumerate() {
        if let Some(mark) = number.checked_sub(1).and_then(|mark| marks.get(mark)) {
            line.push_str(mark);
        }
        let part = text(*part);
        if part.chars().all(char::is_alphanumeric) || part.chars().count() == 1 {
            if line.ends_with(char::is_alphanumeric) {
                line.push(' ');
            }
            line.push_str(&part);
        } else {
            line.push_str(&format!("({part})"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn a_formula_is_one_line() {
        let source = "<math xmlns='m'><semantics><mrow><mi>x</mi><mo>=</mo><mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow>\
            <mn>2</mn></mfrac><msup><mi>c</mi><mn>2</mn></msup></mrow><annotation>x = {a+b} over 2 c^2</annotation></semantics></math>";
        let tree = roxmltree::Document::parse(source).unwrap();
        assert_eq!(text(tree.root_element()), "x=(a+b)/2 c^2");
    }
}
