//! `completion/complete` (server/utilities/completion).

use super::result::{self, Dialect};
use crate::jsonrpc::json::{self, Array, Object};
use crate::limits::COMPLETION_VALUES_MAX;
use crate::wire::protomcp::CompletionResponse;

/// Appends the result: at most [`COMPLETION_VALUES_MAX`] values, and whether there are more.
pub fn write_completion(out: &mut Vec<u8>, dialect: Dialect<'_>, response: &CompletionResponse) {
    let values = &response.values[..response.values.len().min(COMPLETION_VALUES_MAX)];
    let is_cut = values.len() < response.values.len();
    let mut result = result::open(out, dialect);
    let mut completion = Object::open(result.member("completion"));
    let mut list = Array::open(completion.member("values"));
    for value in values {
        json::write_str(list.element(), value);
    }
    list.close();
    if response.total > 0 {
        completion.number("total", response.total);
    } else if is_cut && !response.has_more {
        completion.number("total", response.values.len());
    }
    completion.flag("hasMore", response.has_more || is_cut);
    completion.close();
    result::close(result, dialect, None);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::result::proof::{MODERN_DIALECT, modern};
    use crate::mcp::revision::LATEST;

    fn written(values: usize, total: i32, has_more: bool) -> String {
        let values = (0..values).map(|i| i.to_string()).collect();
        let mut out = Vec::new();
        let dialect = Dialect::of(LATEST);
        write_completion(&mut out, dialect, &CompletionResponse { values, total, has_more });
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn values_are_cut_to_the_number_of_the_specification() {
        assert_eq!(written(0, 0, false), r#"{"completion":{"values":[],"hasMore":false}}"#);
        assert_eq!(written(1, 9, true), r#"{"completion":{"values":["0"],"total":9,"hasMore":true}}"#);
        assert!(written(100, 0, false).ends_with(r#""99"],"hasMore":false}}"#));
        assert!(written(101, 0, false).ends_with(r#""99"],"total":101,"hasMore":true}}"#));
        assert!(written(101, 0, true).ends_with(r#""99"],"hasMore":true}}"#));
        assert!(written(101, 500, false).ends_with(r#""99"],"total":500,"hasMore":true}}"#));
        assert!(written(1, -1, false).ends_with(r#"["0"],"hasMore":false}}"#));
        let mut out = Vec::new();
        write_completion(&mut out, MODERN_DIALECT, &CompletionResponse::default());
        let expected = modern(r#""completion":{"values":[],"hasMore":false},"#);
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
