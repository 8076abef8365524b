//! Records sorted by keys and sizes of any kind, beside a stable sort.

use super::sort_records;

/// Records of two keys, of which one may be below 0, and what travels along.
#[test]
fn keys_have_a_sign() {
    let mut state = 1u64;
    let mut random = |bound: i64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 20) as i64 % bound
    };
    for len in [2, 3, 7, 16, 17, 40, 64, 300] {
        for span in [1, 5, 1000, 1 << 40] {
            for below in [0, 2, span] {
                let near: Vec<i32> = (0..len).map(|_| random(7) as i32 - 3).collect();
                let far: Vec<i64> = (0..len).map(|_| random(span + 1) - below).collect();
                let order: Vec<u64> = (0..len as u64).collect();
                let mut expected: Vec<(i32, i64, u64)> =
                    (0..len).map(|k| (near[k], far[k], order[k])).collect();
                expected.sort_by_key(|record| (record.0, record.1));
                let (mut one, mut with) = (far.clone(), order.clone());
                let mut alone: Vec<(i64, u64)> =
                    far.iter().copied().zip(order.iter().copied()).collect();
                alone.sort_by_key(|record| record.0);
                let arrays = [[one.as_mut_ptr() as u64, 8], [with.as_mut_ptr() as u64, 8]];
                // SAFETY: the arrays have so many elements.
                unsafe { sort_records(&arrays, 1, 0, len) }.unwrap();
                let found = one.into_iter().zip(with);
                assert!(found.eq(alone), "{len} of one key, {span} from {below} below 0");
                let (mut a, mut b, mut c) = (near, far, order);
                let arrays = [
                    [a.as_mut_ptr() as u64, 4],
                    [b.as_mut_ptr() as u64, 8],
                    [c.as_mut_ptr() as u64, 8],
                ];
                // SAFETY: the arrays have so many elements.
                unsafe { sort_records(&arrays, 2, 0, len) }.unwrap();
                let found = (0..len).map(|k| (a[k], b[k], c[k]));
                assert!(found.eq(expected), "{len} records, {span} from {below} below 0");
            }
        }
    }
}

/// Sorts keys with elements beside them that tell their positions before.
fn origins<K: Copy + Ord, V: Copy + TryFrom<usize>>(keys: &[K]) -> (Vec<K>, Vec<V>) {
    let mut keys = keys.to_vec();
    let origin = |k: usize| V::try_from(k).ok().expect("positions fit a byte");
    let mut with: Vec<V> = (0..keys.len()).map(origin).collect();
    let size = |bytes: usize| bytes as u64;
    let arrays = [
        [keys.as_mut_ptr() as u64, size(size_of::<K>())],
        [with.as_mut_ptr() as u64, size(size_of::<V>())],
    ];
    // SAFETY: the arrays have so many elements.
    unsafe { sort_records(&arrays, 1, 0, keys.len()) }.unwrap();
    (keys, with)
}

#[test]
fn elements_of_any_size_move_along() {
    fn check<V: Copy + TryFrom<usize> + Into<u64>>(keys: &[i64]) {
        let mut expected: Vec<usize> = (0..keys.len()).collect();
        expected.sort_by_key(|&k| keys[k]);
        let sorted: Vec<i64> = expected.iter().map(|&k| keys[k]).collect();
        let narrow: Vec<i32> = keys.iter().map(|&key| key as i32).collect();
        let same =
            |with: Vec<V>| with.into_iter().map(Into::into).eq(expected.iter().map(|&k| k as u64));
        let (found, with) = origins::<i64, V>(keys);
        assert!(found == sorted && same(with), "{keys:?}");
        if keys.iter().zip(&narrow).all(|(&key, &narrow)| key == i64::from(narrow)) {
            let (found, with) = origins::<i32, V>(&narrow);
            assert!(found.iter().map(|&key| i64::from(key)).eq(sorted) && same(with), "{keys:?}");
        }
    }
    for len in [2, 3, 7, 16, 17, 40, 64, 65, 97, 200] {
        // Far apart, all over 32 bits, near each other, and some of them repeated.
        for (by, around) in [(1 << 40, 1 << 50), (0x1357_9BDF, 1 << 32), (7, 211), (7, len / 2 + 1)]
        {
            let key = |k: i64| (k * by).rem_euclid(around) - around / 2;
            let keys: Vec<i64> = (0..len).map(key).collect();
            check::<u8>(&keys);
            check::<u16>(&keys);
            check::<u32>(&keys);
            check::<u64>(&keys);
        }
    }
}
