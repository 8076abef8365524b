//! A text file cut into parts at its lines, so that several readers share it or one reads it part by part.
//!
//! ```text
//! "1 1 a\n1 2 b\n2 1 c\n"   in 2 parts   0..12: "1 1 a\n1 2 b\n"   12..18: "2 1 c\n"
//! ```

/// How many bytes are read at once to find the end of a line.
const CHUNK: u64 = 1 << 12;

/// The bytes, from the first to before the last, of a text of `length` bytes that a rank reads.
///
/// They are whole lines, which end in `\n` but for the last one of the file. Each line belongs to one rank, the
/// parts are in rank order, and none is longer than an equal share of the bytes and a line. Ranks find the same
/// cuts without telling each other: each reads around its own. `read_at(at, bytes)` fills `bytes` with those of
/// the file from `at` on; a line that is cut is read to its end.
///
/// # Errors
///
/// The first error of `read_at`.
pub(crate) fn lines_of_part<E>(
    length: u64,
    rank: usize,
    ranks: usize,
    mut read_at: impl FnMut(u64, &mut [u8]) -> Result<(), E>,
) -> Result<(u64, u64), E> {
    let share = |rank: usize| (u128::from(length) * rank as u128 / ranks.max(1) as u128) as u64;
    let start = line_from(share(rank), length, &mut read_at)?;
    // Where a line is longer than the part, the next part starts where this one does.
    let next = share(rank + 1);
    let end = if start >= next { start } else { line_from(next, length, &mut read_at)? };
    Ok((start, end))
}

/// Where the first line starts that starts at a byte or after it; the end of the text if none does.
fn line_from<E>(
    at: u64,
    length: u64,
    read_at: &mut impl FnMut(u64, &mut [u8]) -> Result<(), E>,
) -> Result<u64, E> {
    if at == 0 || at >= length {
        return Ok(at.min(length));
    }
    // A line starts here if the one before ends in the byte before.
    let mut from = at - 1;
    let mut bytes = vec![0; CHUNK.min(length - from) as usize];
    while from < length {
        bytes.truncate((length - from) as usize);
        read_at(from, &mut bytes)?;
        match bytes.iter().position(|&byte| byte == b'\n') {
            Some(end) => return Ok(from + end as u64 + 1),
            None => from += bytes.len() as u64,
        }
    }
    Ok(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANKS: [usize; 9] = [1, 2, 3, 4, 5, 7, 8, 16, 100];

    /// The parts of a text are its lines, each once and whole, in balance.
    fn check(text: &[u8]) {
        let length = text.len() as u64;
        let lines: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
        let longest = lines.iter().map(|line| line.len()).max().unwrap_or(0);
        for ranks in RANKS {
            let read_at = |at: u64, bytes: &mut [u8]| {
                let from = text.get(at as usize..).and_then(|rest| rest.get(..bytes.len()));
                from.map(|from| bytes.copy_from_slice(from)).ok_or("a read beyond the end")
            };
            let mut found: Vec<&[u8]> = vec![];
            let mut end = 0;
            for rank in 0..ranks {
                let part = lines_of_part(length, rank, ranks, read_at).unwrap();
                assert_eq!(part.0, end, "{ranks} ranks");
                end = part.1;
                let part = &text[part.0 as usize..end as usize];
                assert!(part.len() <= text.len().div_ceil(ranks) + longest, "{ranks} ranks");
                found.extend(part.split_inclusive(|&byte| byte == b'\n'));
            }
            assert_eq!(end, length);
            assert!(found == lines, "{ranks} ranks");
        }
    }

    #[test]
    fn each_line_belongs_to_one_part() {
        for text in ["", "\n", "a", "a\n", "\n\n\n\n", "a\r\nb\r\n\r\nc", "\r\n", "a\n\nb\n\n\nc\n"]
        {
            check(text.as_bytes());
        }
    }

    #[test]
    fn lines_may_be_longer_than_parts_and_chunks() {
        for long in [CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK] {
            let long = "x".repeat(long as usize);
            check(long.as_bytes());
            check(format!("a\n{long}\nb\n").as_bytes());
            check(format!("{long}\r\n{long}").as_bytes());
            check(format!("a\nb\n\nc\n{long}").as_bytes());
        }
    }

    #[test]
    fn lines_of_random_lengths_are_cut() {
        let mut state = 1u64;
        let mut below = |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % bound
        };
        for _ in 0..300 {
            let most = [1, 3, 30, 300][below(4) as usize];
            let ending = ["\n", "\r\n"][below(2) as usize];
            let lines: Vec<String> =
                (0..below(40)).map(|_| "y".repeat(below(most) as usize)).collect();
            check(lines.join(ending).as_bytes());
        }
    }

    #[test]
    fn what_cannot_be_read_is_told() {
        let read_at = |at: u64, _: &mut [u8]| Err(at);
        assert_eq!(lines_of_part(100, 0, 1, read_at), Ok((0, 100)));
        assert_eq!(lines_of_part(100, 1, 2, read_at), Err(49));
        // Shares of a length near the largest do not overflow.
        assert_eq!(lines_of_part(u64::MAX, 2, 3, read_at), Err(u64::MAX / 3 * 2 - 1));
    }
}
