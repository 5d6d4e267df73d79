//! Colours of the categories.
//!
//! Up to seven categories take Okabe and Ito's colours ("Color Universal Design", 2008), which all common kinds of
//! colour vision tell apart. More take the viridis ramp (van der Walt and Smith, 2015) in the order of the
//! categories, so that colour shows how far the whole has come. Neighbours, which stand side by side most often,
//! alternate between dark, light and plain: of up to 60 categories each differs from the next two by at least 10 in
//! CIE 1976 L*a*b*, also as seen with deuteranopia.

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
                0 => mix(color, BLACK, 0.15 + 0.33 * position),
                1 => mix(color, WHITE, 0.55 - 0.20 * position),
                _ => mix(color, WHITE, 0.22 - 0.20 * position),
            }
        }
    }
}

/// Black or white, whichever reads better on `background`.
pub fn text_color(background: Color) -> Color {
    if luminance(background) > 0.3 { (0, 0, 0) } else { (255, 255, 255) }
}

/// A line that is seen on `color`.
pub fn edge_color(color: Color) -> Color {
    mix(color, BLACK, 0.35)
}

/// viridis, from 0 to nearly its brightest at 1.
pub fn ramp(position: f64) -> Color {
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

    /// Simulation of deuteranopia in linear RGB (Machado, Oliveira and Fernandes, 2009).
    const DEUTERANOPIA: [[f64; 3]; 3] =
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]];
    const NORMAL: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    /// Linear sRGB to X, Y, Z, relative to the white of D65.
    const TO_XYZ: [[f64; 3]; 3] =
        [[0.433953, 0.376219, 0.189828], [0.212673, 0.715152, 0.072175], [0.017757, 0.109471, 0.872773]];

    fn times(matrix: [[f64; 3]; 3], v: [f64; 3]) -> [f64; 3] {
        matrix.map(|row| row[0] * v[0] + row[1] * v[1] + row[2] * v[2])
    }

    fn lab(color: Color, vision: [[f64; 3]; 3]) -> [f64; 3] {
        let linear = [color.0, color.1, color.2].map(|channel| {
            let c = f64::from(channel) / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        });
        let seen = times(vision, linear).map(|c| c.clamp(0.0, 1.0));
        let [x, y, z] =
            times(TO_XYZ, seen).map(|c| if c > 0.008856 { c.cbrt() } else { 7.787 * c + 16.0 / 116.0 });
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    fn difference(a: Color, b: Color, vision: [[f64; 3]; 3]) -> f64 {
        let (a, b) = (lab(a, vision), lab(b, vision));
        let squares = a.iter().zip(b).map(|(a, b)| (a - b).powi(2));
        squares.sum::<f64>().sqrt()
    }

    #[test]
    fn a_known_difference() {
        // Black and white differ by 100 in lightness and in nothing else.
        assert!((difference(BLACK, WHITE, NORMAL) - 100.0).abs() < 0.01);
    }

    #[test]
    fn each_differs_from_the_next_two() {
        for count in [7, 8, 12, 20, 25, 30, 60] {
            let color = |i| category_color(Some(i), count as usize);
            for (i, distance) in (0..count).flat_map(|i| [(i, 1), (i, 2)]) {
                if i + distance < count {
                    for vision in [NORMAL, DEUTERANOPIA] {
                        let found = difference(color(i), color(i + distance), vision);
                        assert!(found >= 10.0, "{i} and next {distance} of {count}: {found}");
                    }
                }
            }
        }
    }

    #[test]
    fn text_is_seen_on_its_background() {
        assert_eq!(text_color((255, 255, 255)), (0, 0, 0));
        assert_eq!(text_color(RAMP[0]), (255, 255, 255));
        assert_eq!(text_color(NEUTRAL), (0, 0, 0));
    }
}
