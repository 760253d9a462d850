//! How a number is written: thousands with a comma, decimals only where they matter, a true minus.

use super::Nanos;

/// Milliseconds without unit: `1,307`, `12.4` (under 100 with a fraction: one decimal), `0.25`
/// (under 10: two), `0.004` (under 0.1: three).
pub fn ms(time: Nanos) -> String {
    let magnitude = time.abs().0;
    let decimals = match magnitude {
        0..100_000 => 3,
        100_000..10_000_000 => 2,
        10_000_000..100_000_000 => 1,
        _ => 0,
    };
    decimal(time.0, 1_000_000, decimals)
}

/// `value ÷ unit` (a power of ten) with up to so many decimals, trailing zeros dropped.
pub fn decimal(value: i64, unit: i64, decimals: u32) -> String {
    let text = fixed(value, unit, decimals);
    if decimals == 0 {
        return text;
    }
    let short = text.trim_end_matches('0').trim_end_matches('.');
    match short {
        "\u{2212}0" => "0".to_owned(),
        short => short.to_owned(),
    }
}

/// `value ÷ unit` (a power of ten) with exactly so many decimals, halves away from zero.
pub fn fixed(value: i64, unit: i64, decimals: u32) -> String {
    let scale = 10_i128.pow(decimals);
    let unit = i128::from(unit);
    let magnitude = (i128::from(value).abs() * scale * 2 + unit) / (unit * 2);
    let (whole, fraction) = (magnitude / scale, magnitude % scale);
    let mut out = String::new();
    if value < 0 && magnitude > 0 {
        out.push('\u{2212}');
    }
    let digits = whole.to_string();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if decimals > 0 {
        let width = decimals as usize;
        out.push('.');
        let digits = fraction.to_string();
        out.extend(std::iter::repeat_n('0', width.saturating_sub(digits.len())));
        out.push_str(&digits);
    }
    out
}
