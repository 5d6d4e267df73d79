//! Slices as a table, one line each (RFC 4180, with `\n` ends of lines).

use std::io::{self, Write};

use thiserror::Error;

use crate::{Timeline, TimelineError};

/// Why a table could not be written.
#[derive(Debug, Error)]
pub enum CsvError {
    /// The timeline contradicts itself.
    #[error(transparent)]
    Timeline(#[from] TimelineError),
    /// The output cannot be written to.
    #[error("cannot write the table: {0}")]
    Write(#[from] io::Error),
}

/// Writes `group,track,start,end,duration,category,name,arguments`, in the order of tracks and slices. Arguments are
/// `name=value`, separated by `; `. Unbuffered: pass a `BufWriter` for files.
///
/// # Errors
/// If the timeline contradicts itself or `out` fails.
pub fn slices(timeline: &Timeline, mut out: impl Write) -> Result<(), CsvError> {
    timeline.check()?;
    writeln!(out, "group,track,start,end,duration,category,name,arguments")?;
    for track in &timeline.tracks {
        let (group, name) = (field(&track.group), field(&track.name));
        for slice in &track.slices {
            let category = slice.category.map_or("", |c| timeline.categories[c as usize].name.as_str());
            let arguments: Vec<String> = slice.arguments.iter().map(|(n, v)| format!("{n}={v}")).collect();
            writeln!(
                out,
                "{group},{name},{},{},{},{},{},{}",
                slice.start,
                slice.end,
                slice.duration(),
                field(category),
                field(&slice.name),
                field(&arguments.join("; ")),
            )?;
        }
    }
    out.flush()?;
    Ok(())
}

fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) || text.starts_with(' ') || text.ends_with(' ') {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Category, Slice, Track};
    use expect_test::expect;

    #[test]
    fn quotes_where_it_must() {
        let mut slice = Slice::new(3, 10, "say \"hi\"", Some(0));
        slice.arguments = vec![("bits".into(), "64".into()), ("to".into(), "m1, m2".into())];
        let timeline = Timeline {
            end: 10,
            categories: vec![Category { name: "a,b".into() }],
            tracks: vec![Track {
                name: "m0".into(),
                group: "machines".into(),
                slices: vec![slice, Slice::new(10, 10, "", None)],
            }],
            ..Timeline::default()
        };
        let mut out = Vec::new();
        slices(&timeline, &mut out).unwrap();
        expect![[r#"
            group,track,start,end,duration,category,name,arguments
            machines,m0,3,10,7,"a,b","say ""hi""","bits=64; to=m1, m2"
            machines,m0,10,10,0,,,
        "#]]
        .assert_eq(std::str::from_utf8(&out).unwrap());
    }
}
