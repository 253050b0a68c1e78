//! What is wrong with a command line, in one line.

/// What clap says in one line, without its usage.
pub(crate) fn one_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let paragraphs = text.trim_start_matches("error: ").split("\n\n");
    let kept = paragraphs
        .filter(|paragraph| {
            !["Usage:", "For more"]
                .iter()
                .any(|w| paragraph.starts_with(w))
        })
        .map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "));
    kept.filter(|paragraph| !paragraph.is_empty())
        .collect::<Vec<_>>()
        .join("; ")
}
