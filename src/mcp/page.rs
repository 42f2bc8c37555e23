//! Pages of a list (server/utilities/pagination).

use std::ops::Range;

use crate::jsonrpc::message::RpcError;
use crate::limits::PAGE_MAX;

/// One page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Which entries it holds.
    pub range: Range<usize>,
    /// How to get the next one, if there is one.
    pub next_cursor: Option<String>,
}

/// What comes before the number in a cursor. Hosts must not look into it.
const PREFIX: &str = "from-";

/// The page of a list of `len` entries that a host asks for.
///
/// # Errors
/// A cursor that we did not make, or that lies beyond the end because the list has shrunk, is
/// `-32602`.
pub fn page(len: usize, cursor: Option<&str>) -> Result<Page, RpcError> {
    let start = match cursor {
        None => 0,
        Some(cursor) => decode(cursor)
            .filter(|start| *start < len)
            .ok_or_else(|| RpcError::invalid_params("Invalid cursor: ask for the first page again"))?,
    };
    let end = len.min(start + PAGE_MAX);
    Ok(Page { range: start..end, next_cursor: (end < len).then(|| encode(end)) })
}

fn encode(start: usize) -> String {
    format!("{PREFIX}{start}")
}

fn decode(cursor: &str) -> Option<usize> {
    let start = cursor.strip_prefix(PREFIX)?.parse().ok()?;
    // One spelling per page: no sign, no leading zero, never the first page.
    (start > 0 && encode(start) == cursor).then_some(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_are_the_list() {
        for len in [0, 1, PAGE_MAX - 1, PAGE_MAX, PAGE_MAX + 1, 3 * PAGE_MAX + 7] {
            let mut seen = 0;
            let mut cursor = None;
            loop {
                let page = page(len, cursor.as_deref()).unwrap();
                assert_eq!(page.range.start, seen);
                assert!(page.range.len() <= PAGE_MAX);
                seen = page.range.end;
                cursor = page.next_cursor;
                if cursor.is_none() {
                    break;
                }
                assert!(!page.range.is_empty());
            }
            assert_eq!(seen, len);
        }
    }

    #[test]
    fn foreign_cursors_are_refused() {
        let far = format!("from-{}", 5 * PAGE_MAX);
        let bad =
            ["", "0", "from-", "from-0", "from-01", "from-+1", "from--1", "from-99999999999999999999", &far];
        for cursor in bad {
            assert_eq!(page(2 * PAGE_MAX, Some(cursor)).unwrap_err().code, -32602, "{cursor}");
        }
    }
}
