//! The one font of all pictures, compiled in, and the width of text in it.
//!
//! Sizes are em sizes in pixels, as in CSS. plotters' sizes differ: its SVG backend divides by 1.24, and with
//! `ab_glyph` a size is ascent plus descent, 1.164 em for DejaVu Sans.

use std::sync::OnceLock;

use plotters::style::{FontDesc, FontFamily, FontStyle, register_font};

/// plotters' size per em in SVG.
pub const SVG_SIZE_PER_EM: f64 = 1.24;
/// plotters' size per em in bitmaps, and for measuring.
pub const BITMAP_SIZE_PER_EM: f64 = 1.164;

static BYTES: &[u8] = include_bytes!("../assets/DejaVuSans-subset.ttf");
static REGISTERED: OnceLock<bool> = OnceLock::new();

/// The font at `size` of plotters; registers it first.
pub fn font(size: f64) -> FontDesc<'static> {
    let registered =
        *REGISTERED.get_or_init(|| register_font("sans-serif", FontStyle::Normal, BYTES).is_ok());
    assert!(registered, "the compiled-in font is a valid font");
    FontDesc::new(FontFamily::SansSerif, size, FontStyle::Normal)
}

/// Width of `text` in pixels at an em size of `em` pixels, rounded up.
pub fn text_width(text: &str, em: f64) -> i32 {
    // plotters rounds widths down to integers: measure eight times as large.
    let box_size = font(8.0 * em * BITMAP_SIZE_PER_EM).box_size(text).expect("the font is registered");
    box_size.0.div_ceil(8) as i32
}

/// `text`, or its beginning and end around an ellipsis, so that it fits `width` pixels. Ends tell names of one kind
/// apart more often than beginnings do: they keep the larger share.
pub fn shorten(text: &str, em: f64, width: i32) -> String {
    if text_width(text, em) <= width {
        return text.to_owned();
    }
    let letters: Vec<char> = text.chars().collect();
    (1..letters.len())
        .rev()
        .map(|kept| {
            let head = kept * 2 / 5;
            let tail = letters.len() - (kept - head);
            letters[..head].iter().chain(&['…']).chain(&letters[tail..]).collect::<String>()
        })
        .find(|short| text_width(short, em) <= width)
        .unwrap_or_else(|| "…".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_follow_the_font() {
        // DejaVu Sans: all digits are 1303 of 2048 units wide, so ten of them at 20.48 pixels take 130.3.
        assert_eq!(text_width("0123456789", 20.48), 131);
        assert_eq!(text_width("", 12.0), 0);
    }

    #[test]
    fn long_names_lose_their_middle() {
        assert_eq!(shorten("part1", 12.0, 100), "part1");
        let short = shorten("/stage1/stage1.0/part1/Conv", 12.0, 100);
        assert!(short.starts_with("/sta") && short.ends_with("/Conv"), "{short}");
        assert!(text_width(&short, 12.0) <= 100);
        assert_eq!(shorten("part1", 12.0, 0), "…");
    }
}
