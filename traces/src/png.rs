//! PNG (ISO/IEC 15948) of an RGB image in memory; plotters' own encoder writes to a path only.
//!
//! A chart is flat areas in bands: subtracting the row above leaves mostly zeros, and repetitions of the pixel before
//! compress the rest. That is all this encoder looks for (filter "up", then fixed Huffman codes of RFC 1951 with
//! matches at a distance of one pixel).

const SIGNATURE: [u8; 8] = [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n'];
/// Bytes of a pixel.
const PIXEL: usize = 3;
/// RFC 1951: longest and shortest match.
const LONGEST: usize = 258;
const SHORTEST: usize = 3;

/// The file for `pixels`, `3 * width * height` bytes, row by row from the top.
pub fn encode(pixels: &[u8], width: u32, height: u32) -> Vec<u8> {
    let mut file = SIGNATURE.to_vec();
    let mut header = Vec::with_capacity(13);
    header.extend(width.to_be_bytes());
    header.extend(height.to_be_bytes());
    // Bit depth 8, true colour, and the only compression, filter method and (no) interlace there are.
    header.extend([8, 2, 0, 0, 0]);
    chunk(&mut file, b"IHDR", &header);
    chunk(&mut file, b"IDAT", &zlib(&filter(pixels, width as usize * PIXEL)));
    chunk(&mut file, b"IEND", &[]);
    file
}

fn chunk(file: &mut Vec<u8>, kind: &[u8; 4], content: &[u8]) {
    file.extend((content.len() as u32).to_be_bytes());
    let start = file.len();
    file.extend(kind);
    file.extend(content);
    let sum = crc32(&file[start..]);
    file.extend(sum.to_be_bytes());
}

/// Each row as its difference to the row above, behind the number 2 of this filter.
fn filter(pixels: &[u8], stride: usize) -> Vec<u8> {
    let mut filtered = Vec::with_capacity(pixels.len() + pixels.len() / stride.max(1) + 1);
    let mut above = vec![0; stride];
    for row in pixels.chunks_exact(stride.max(1)) {
        filtered.push(2);
        filtered.extend(row.iter().zip(&above).map(|(here, up)| here.wrapping_sub(*up)));
        above.copy_from_slice(row);
    }
    filtered
}

fn zlib(content: &[u8]) -> Vec<u8> {
    // Deflate with a 32 KiB window; the second byte makes the pair a multiple of 31.
    let mut bits = BitWriter { bytes: vec![0x78, 0x01], pending: 0, count: 0 };
    // One last block with fixed codes.
    bits.write(0b011, 3);
    let mut at = 0;
    while at < content.len() {
        let length = repeated(content, at);
        if length >= SHORTEST {
            bits.write_match(length as u32);
            at += length;
        } else {
            bits.write_symbol(u32::from(content[at]));
            at += 1;
        }
    }
    bits.write_symbol(256);
    bits.finish(content)
}

/// Bytes from `at` on that equal those one pixel before.
fn repeated(content: &[u8], at: usize) -> usize {
    if at < PIXEL {
        return 0;
    }
    let longest = LONGEST.min(content.len() - at);
    let here = &content[at..at + longest];
    let before = &content[at - PIXEL..];
    here.iter().zip(before).take_while(|(a, b)| a == b).count()
}

/// Bits from the least significant on, as RFC 1951 wants them.
struct BitWriter {
    bytes: Vec<u8>,
    pending: u64,
    count: u32,
}

impl BitWriter {
    fn write(&mut self, value: u32, bits: u32) {
        self.pending |= u64::from(value) << self.count;
        self.count += bits;
        while self.count >= 8 {
            self.bytes.push(self.pending as u8);
            self.pending >>= 8;
            self.count -= 8;
        }
    }

    /// A literal or length by the fixed Huffman code, whose bits come most significant first.
    fn write_symbol(&mut self, symbol: u32) {
        let (code, bits) = match symbol {
            0..=143 => (0x30 + symbol, 8),
            144..=255 => (0x190 + symbol - 144, 9),
            256..=279 => (symbol - 256, 7),
            _ => (0xc0 + symbol - 280, 8),
        };
        self.write(code.reverse_bits() >> (32 - bits), bits);
    }

    /// A match of `length` bytes at the distance of one pixel, distance code 2 without extra bits.
    fn write_match(&mut self, length: u32) {
        let (symbol, extra, extra_bits) = length_code(length);
        self.write_symbol(symbol);
        self.write(extra, extra_bits);
        self.write(2_u32.reverse_bits() >> 27, 5);
    }

    fn finish(mut self, content: &[u8]) -> Vec<u8> {
        if self.count > 0 {
            self.bytes.push(self.pending as u8);
        }
        self.bytes.extend(adler32(content).to_be_bytes());
        self.bytes
    }
}

/// Symbol, extra value and number of extra bits of a match of 3 to 258 bytes: groups of four symbols, each group with
/// one more extra bit.
fn length_code(length: u32) -> (u32, u32, u32) {
    match length {
        3..=10 => (254 + length, 0, 0),
        258 => (285, 0, 0),
        _ => {
            let offset = length - 3;
            let bits = offset.ilog2() - 2;
            (257 + 4 * bits + (offset >> bits), offset & ((1 << bits) - 1), bits)
        }
    }
}

fn adler32(content: &[u8]) -> u32 {
    let (mut a, mut b) = (1_u32, 0_u32);
    // 5552 bytes are the most before the sums leave 32 bits.
    for part in content.chunks(5552) {
        for &byte in part {
            a += u32::from(byte);
            b += a;
        }
        a %= 65_521;
        b %= 65_521;
    }
    b << 16 | a
}

fn crc32(content: &[u8]) -> u32 {
    let table: [u32; 256] = std::array::from_fn(|index| {
        (0..8).fold(index as u32, |crc, _| if crc & 1 == 1 { 0xedb8_8320 ^ (crc >> 1) } else { crc >> 1 })
    });
    !content.iter().fold(!0_u32, |crc, &byte| table[((crc ^ u32::from(byte)) & 0xff) as usize] ^ (crc >> 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_values_of_the_standards() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b"IEND"), 0xae42_6082);
        assert_eq!(adler32(b"Wikipedia"), 0x11e6_0398);
    }

    #[test]
    fn length_codes_of_rfc_1951() {
        assert_eq!(length_code(3), (257, 0, 0));
        assert_eq!(length_code(10), (264, 0, 0));
        assert_eq!(length_code(11), (265, 0, 1));
        assert_eq!(length_code(12), (265, 1, 1));
        assert_eq!(length_code(114), (279, 15, 4));
        assert_eq!(length_code(115), (280, 0, 4));
        assert_eq!(length_code(257), (284, 30, 5));
        assert_eq!(length_code(258), (285, 0, 0));
    }

    #[test]
    fn rows_become_differences() {
        assert_eq!(filter(&[1, 2, 3, 1, 2, 4], 3), [2, 1, 2, 3, 2, 0, 0, 1]);
    }

    #[test]
    fn a_whole_file() {
        // Four pixels of one colour, twice; other readers show them as such.
        let file = encode(&[10, 20, 30].repeat(8), 4, 2);
        let hex: String = file[41..].iter().map(|byte| format!("{byte:02x}")).collect();
        expect_test::expect!["780163e21291832326060606380200126000f54fca483c0000000049454e44ae426082"]
            .assert_eq(&hex);
    }
}
