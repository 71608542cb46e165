//! Bytes of a file to pages and elements.
