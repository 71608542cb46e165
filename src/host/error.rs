//! Why there is nothing to start.

use miette::Diagnostic;
use thiserror::Error;

use crate::json::SyntaxError;

use super::schema::SchemaError;

/// Errors before any process exists.
#[derive(Debug, Error, Diagnostic)]
pub enum HostError {
    /// The manifest is no JSON the contract allows (connector contract §4.1).
    #[error("the manifest is not strict JSON: {0}")]
    #[diagnostic(
        code(dpe::host::manifest_syntax),
        help("repair dpe-connector.json; duplicate names and lone surrogates count as errors")
    )]
    ManifestSyntax(#[source] SyntaxError),
    /// The manifest exceeds the limits of §4.1.
    #[error("the manifest is outside the limits: {0}")]
    #[diagnostic(
        code(dpe::host::manifest_limits),
        help(
            "repair dpe-connector.json; the nesting depth is at most 64, integers lie within ±(2^53−1)"
        )
    )]
    ManifestLimits(String),
    /// The manifest has not the shape of §4.
    #[error("the manifest is not valid")]
    #[diagnostic(
        code(dpe::host::manifest_invalid),
        help("repair dpe-connector.json as the cause says")
    )]
    ManifestInvalid(#[source] dpe_connector::manifest::ManifestError),
    /// The schema of the configuration is outside of the subset (§4.3, §4.4, §5).
    #[error("the `config_schema` of the manifest is not valid")]
    #[diagnostic(
        code(dpe::host::manifest_schema),
        help(
            "repair dpe-connector.json as the cause says; the contract allows part of draft 2020-12"
        )
    )]
    ManifestSchema(#[source] SchemaError),
}
