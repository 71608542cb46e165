//! The instructions of fields in texts of Word (ECMA-376 part 1, §17.16), as RTF, DOC and DOCX have them.

use crate::codepage;

/// Returns where the instruction of a field leads, if it is one of a link.
pub(crate) fn link_target(instruction: &str) -> Option<String> {
    let rest = instruction.trim_start();
    let keyword = rest.get(..9)?;
    if !keyword.eq_ignore_ascii_case("HYPERLINK") {
        return None;
    }
    let mut target = String::new();
    let mut place = None;
    let mut arguments = arguments(&rest[9..]).into_iter();
    while let Some(argument) = arguments.next() {
        match &*argument {
            "\\l" => place = arguments.next(),
            // These have an argument that is no address.
            "\\o" | "\\t" => drop(arguments.next()),
            switch if switch.starts_with('\\') && switch.len() == 2 => {}
            _ if target.is_empty() => target = argument,
            _ => {}
        }
    }
    if let Some(place) = place.filter(|place| !place.is_empty()) {
        target.push('#');
        target.push_str(&place);
    }
    (!target.is_empty()).then_some(target)
}

/// Returns the words of an instruction; what is between quotes is one.
fn arguments(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (word, after) = match rest.strip_prefix(['"', '\u{201C}']) {
            Some(quoted) => quoted.split_once(['"', '\u{201D}']).unwrap_or((quoted, "")),
            None => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
        };
        found.push(word.replace("\\\\", "\\"));
        rest = after.trim_start();
    }
    found
}

/// Whether the result of a field is a number of the layout: of this page, or of how many there are.
pub(crate) fn is_layout(instruction: &str) -> bool {
    let keyword = instruction.split_whitespace().next().unwrap_or("");
    ["PAGE", "NUMPAGES", "SECTIONPAGES"]
        .iter()
        .any(|layout| keyword.eq_ignore_ascii_case(layout))
}

/// Returns the text that a field without a result shows by itself.
pub(crate) fn shown(instruction: &str) -> Option<String> {
    let instruction = instruction.trim();
    let (keyword, rest) = instruction.split_once(char::is_whitespace)?;
    match &*keyword.to_ascii_uppercase() {
        "MACROBUTTON" => {
            let text = rest.trim_start().split_once(char::is_whitespace)?.1;
            Some(text.trim().to_owned())
        }
        "SYMBOL" => symbol(rest),
        "EQ" => Some(equation(rest)),
        _ => None,
    }
}

fn symbol(rest: &str) -> Option<String> {
    let arguments = arguments(rest);
    let number = arguments.first()?;
    let number: u32 = match number.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok()?,
        None => number.parse().ok()?,
    };
    let is_unicode = arguments.iter().any(|argument| argument == "\\u");
    let is_symbol = arguments
        .iter()
        .any(|argument| argument.eq_ignore_ascii_case("symbol"));
    let character = match u8::try_from(number) {
        _ if is_unicode => char::from_u32(number)?,
        Ok(byte) if is_symbol => codepage::symbol(byte),
        Ok(byte) => return Some(codepage::decode(codepage::WESTERN, &[byte])),
        Err(_) => char::from_u32(number)?,
    };
    Some(character.to_string())
}

/// Returns the operands of an equation, as which Word writes signs above others as well.
fn equation(rest: &str) -> String {
    let mut text = String::new();
    let mut characters = rest.trim().chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                // A switch of the whole field, with its argument.
                Some('*') => {
                    while characters.next_if(|next| next.is_whitespace()).is_some() {}
                    if characters.next_if_eq(&'"').is_some() {
                        while characters.next().is_some_and(|next| next != '"') {}
                    } else {
                        while characters.next_if(|next| !next.is_whitespace()).is_some() {}
                    }
                }
                Some(letter) if letter.is_ascii_alphabetic() => {
                    while characters.next_if(char::is_ascii_alphanumeric).is_some() {}
                    while characters.next_if(|next| next.is_whitespace()).is_some() {}
                    while characters.next_if(char::is_ascii_digit).is_some() {}
                }
                Some(other) => text.push(other),
                None => {}
            },
            '(' | ')' => {}
            ',' | ';' => text.push(' '),
            other => text.push(other),
        }
    }
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::{link_target, shown};

    #[test]
    fn link_leads_where_its_instruction_says() {
        let target = |instruction| link_target(instruction).unwrap_or_default();
        assert_eq!(
            target(r#" HYPERLINK "http://a.b/c" \o "tip" "#),
            "http://a.b/c"
        );
        assert_eq!(target(r#"hyperlink \l "place""#), "#place");
        assert_eq!(
            target(r#"HYPERLINK "a.doc" \l place \t "_blank""#),
            "a.doc#place"
        );
        assert_eq!(target("PAGE"), "");
    }

    #[test]
    fn fields_without_a_result_show_what_they_are_made_of() {
        let text = |instruction| shown(instruction).unwrap_or_default();
        assert_eq!(text("MACROBUTTON None Type here"), "Type here");
        assert_eq!(text(r#"SYMBOL 97 \f "Symbol" \s 12"#), "\u{3B1}");
        assert_eq!(
            text(r#"EQ \* jc2 \* "Font:A B" \o\ad(\s\up 5(x),y)"#),
            "x y"
        );
        assert_eq!(text("PAGE "), "");
    }
}
