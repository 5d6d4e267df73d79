//! Colours of the categories.
//!
//! Up to seven categories take Okabe and Ito's colours ("Color Universal Design", 2008), which all common kinds of
//! colour vision tell apart. More take the viridis ramp (van der Walt and Smith, 2015) in the order of the
//! categories, so that colour shows how far the whole has come; neighbours, which stand side by side most often,
//! alternate between dark, light and plain, a difference that needs no colour vision at all.

/// Red, green, blue.
pub type Color = (u8, u8, u8);

/// Slices without a category.
pub const NEUTRAL: Color = (160, 160, 160);

/// How far up the ramp categories go: its last yellow is hard to see on white.
const BRIGHTEST: f64 = 0.95;

const FEW: [Color; 7] = [
    (0, 114, 178),
    (230, 159, 0),
    (0, 158, 115),
    (204, 121, 167),
    (86, 180, 233),
    (213, 94, 0),
    (240, 228, 66),
];

const BLACK: Color = (0, 0, 0);
const WHITE: Color = (255, 255, 255);

/// viridis at 0, 1/8 … 1.
const RAMP: [Color; 9] = [
    (68, 1, 84),
    (71, 45, 123),
    (59, 82, 139),
    (44, 114, 142),
    (33, 145, 140),
    (40, 174, 128),
    (94, 201, 98),
    (173, 220, 48),
    (253, 231, 37),
];

/// The colour of category `index` of `count`.
pub fn category_color(index: Option<u32>, count: usize) -> Color {
    match index {
        None => NEUTRAL,
        Some(index) if count <= FEW.len() => FEW[index as usize % FEW.len()],
        Some(index) => {
            let position = f64::from(index) / (count - 1) as f64;
            let color = ramp(position);
            // The dark end has room for lighter colours, the bright end for darker ones.
            match index % 3 {
                0 => mix(color, BLACK, 0.05 + 0.30 * position),
                1 => mix(color, WHITE, 0.45 - 0.25 * position),
                _ => mix(color, WHITE, 0.15 - 0.15 * position),
            }
        }
    }
}

/// Black or white, whichever reads better on `background`.
pub fn text_color(background: Color) -> Color {
    if luminance(background) > 0.3 {
        (0, 0, 0)
    } else {
        (255, 255, 255)
    }
}

/// A line that is seen on `color`.
pub fn edge_color(color: Color) -> Color {
    mix(color, (0, 0, 0), 0.45)
}

fn ramp(position: f64) -> Color {
    let scaled = position.clamp(0.0, 1.0) * BRIGHTEST * (RAMP.len() - 1) as f64;
    let below = (scaled as usize).min(RAMP.len() - 2);
    mix(RAMP[below], RAMP[below + 1], scaled - below as f64)
}

fn mix(from: Color, to: Color, share: f64) -> Color {
    let part = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * share).round() as u8;
    (part(from.0, to.0), part(from.1, to.1), part(from.2, to.2))
}

/// Relative luminance of sRGB, from 0 to 1 (with gamma 2 for 2.2, close enough for a choice of two).
fn luminance(color: Color) -> f64 {
    let linear = |channel: u8| (f64::from(channel) / 255.0).powi(2);
    0.2126 * linear(color.0) + 0.7152 * linear(color.1) + 0.0722 * linear(color.2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ramp_passes_its_anchors() {
        assert_eq!(ramp(0.0), RAMP[0]);
        assert_eq!(ramp(0.5 / BRIGHTEST), RAMP[4]);
    }

    #[test]
    fn neighbours_differ_in_luminance_and_all_colours_are_distinct() {
        for count in [8, 25, 60] {
            let colors: Vec<Color> = (0..count)
                .map(|i| category_color(Some(i), count as usize))
                .collect();
            for pair in colors.windows(2) {
                let (dark, light) = (luminance(pair[0]), luminance(pair[1]));
                let contrast = (dark.max(light) + 0.05) / (dark.min(light) + 0.05);
                assert!(contrast > 1.15, "{pair:?} of {count}: {contrast}");
            }
            let mut distinct = colors.clone();
            distinct.sort_unstable();
            distinct.dedup();
            assert_eq!(distinct.len(), colors.len());
        }
    }

    #[test]
    fn text_is_seen_on_its_background() {
        assert_eq!(text_color((255, 255, 255)), (0, 0, 0));
        assert_eq!(text_color(RAMP[0]), (255, 255, 255));
        assert_eq!(text_color(NEUTRAL), (0, 0, 0));
    }
}
