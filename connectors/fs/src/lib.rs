//! The bundled connector for a folder of files.
