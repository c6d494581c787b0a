//! Chance for jitters: not secret, not the same in two processes.

use std::hash::{BuildHasher, Hasher, RandomState};

/// The next number of a row, begun when the first is drawn. SplitMix64 (Steele, Lea, Flood 2014): every
/// state is good.
pub fn draw(seed: &mut Option<u64>) -> u32 {
    let begin = || RandomState::new().build_hasher().finish();
    let state = seed.get_or_insert_with(begin).wrapping_add(0x9e37_79b9_7f4a_7c15);
    *seed = Some(state);
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_eighth_of_the_range_comes_as_often_as_the_others() {
        let (mut seed, mut counts) = (None, [0_u32; 8]);
        for _ in 0..80_000 {
            counts[(draw(&mut seed) >> 29) as usize] += 1;
        }
        // Ten thousand each; the deviation is 94, so this is ten of them.
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 940), "{counts:?}");
        assert_ne!(draw(&mut None), draw(&mut None));
    }
}
