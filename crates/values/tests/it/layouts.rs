//! Layouts, beside the loops that they stand for.

use motet_testkit::{Random, patience, within};
use motet_values::{Layout, LayoutError};
use std::ops::Range;

fn blocks(layout: &Layout) -> Vec<Range<usize>> {
    layout.blocks().collect()
}

/// The elements of a subarray, one by one.
fn slow(sizes: &[usize], lengths: &[usize], starts: &[usize]) -> Vec<usize> {
    let count: usize = lengths.iter().product();
    let element = |number: usize| {
        let (mut left, mut place, mut stride) = (number, 0, 1);
        for at in (0..sizes.len()).rev() {
            place += (starts[at] + left % lengths[at]) * stride;
            left /= lengths[at];
            stride *= sizes[at];
        }
        place
    };
    (0..count).map(element).collect()
}

#[test]
fn sem_g361_a_layout_has_the_elements_that_its_words_say() {
    let vector = Layout::vector(3, 2, 5).unwrap();
    assert_eq!(blocks(&vector), [0..2, 5..7, 10..12]);
    assert_eq!((vector.len(), vector.extent(), vector.reach()), (6, 12, 12));
    let row = Layout::vector(3, 2, 2).unwrap();
    assert_eq!(row, Layout::contiguous(6));
    let indexed = Layout::indexed([8..9, 0..2, 2..3, 4..4]).unwrap();
    assert_eq!(blocks(&indexed), [8..9, 0..3]);
    assert!(!indexed.ascends() && vector.ascends());
    let twice = vector.resized(20).unwrap().repeated(2).unwrap();
    assert_eq!(blocks(&twice)[2..5], [10..12, 20..22, 25..27]);
    assert_eq!((twice.len(), twice.extent(), twice.reach()), (12, 40, 32));
    let starts = Layout::indexed_blocks(2, &[3, 7]).unwrap();
    assert_eq!(blocks(&starts), [3..5, 7..9]);
    let none = Layout::contiguous(0).repeated(3).unwrap();
    assert!(none.is_empty() && blocks(&none).is_empty());
    assert_eq!(none.gather::<u8>(&[]), Ok(vec![]));
    let nowhere = Layout::vector(0, 2, 5).unwrap();
    assert_eq!(
        (nowhere.len(), nowhere.reach(), blocks(&nowhere)),
        (0, 0, vec![])
    );
}

#[test]
fn sem_g361_nothing_is_nothing_however_often() {
    within(patience(), || {
        let none = Layout::contiguous(0).repeated(usize::MAX).unwrap();
        assert_eq!(none, Layout::contiguous(0));
        assert!(blocks(&none).is_empty() && none.ascends());
        let wide = Layout::contiguous(0).resized(3).unwrap();
        let wide = wide.repeated(usize::MAX / 4).unwrap();
        assert_eq!((wide.extent(), wide.reach()), (usize::MAX / 4 * 3, 0));
        assert!(blocks(&wide).is_empty());
    });
}

#[test]
fn sem_g361_subarrays_are_what_loops_find_and_come_back_where_they_were() {
    let mut random = Random::new(5);
    for _ in 0..300 {
        let dims = 1 + random.below(4);
        let sizes: Vec<usize> = (0..dims).map(|_| 1 + random.below(5)).collect();
        let starts: Vec<usize> = sizes.iter().map(|&size| random.below(size)).collect();
        let lengths = sizes.iter().zip(&starts);
        let lengths: Vec<usize> = lengths
            .map(|(size, start)| random.below(size - start + 1))
            .collect();
        let layout = Layout::subarray(&sizes, &lengths, &starts).unwrap();
        let whole: usize = sizes.iter().product();
        let array: Vec<usize> = (0..whole).collect();
        let elements = layout.gather(&array).unwrap();
        let told = format!("{sizes:?} {lengths:?} {starts:?}");
        assert_eq!(elements, slow(&sizes, &lengths, &starts), "{told}");
        assert_eq!(
            (layout.len(), layout.extent()),
            (elements.len(), whole),
            "{told}"
        );
        let mut back = vec![usize::MAX; whole];
        layout.scatter(&elements, &mut back).unwrap();
        let changed = back.iter().filter(|it| **it != usize::MAX);
        assert_eq!(changed.count(), elements.len(), "{told}");
        assert!(elements.iter().all(|&at| back[at] == at), "{told}");
    }
}

#[test]
fn sem_g361_layouts_of_layouts_have_an_inner_one_for_each_element() {
    let mut random = Random::new(9);
    let mut draw = || {
        let layout = match random.below(4) {
            0 => Layout::contiguous(random.below(4)),
            1 => {
                let block = random.below(4);
                Layout::vector(random.below(4), block, block + random.below(3)).unwrap()
            }
            2 => Layout::indexed([5..5 + random.below(3), 0..random.below(4)]).unwrap(),
            _ => Layout::subarray(&[3, 4], &[2, 1 + random.below(3)], &[1, 1]).unwrap(),
        };
        let extent = layout.extent() + random.below(2);
        layout.resized(extent).unwrap()
    };
    for _ in 0..200 {
        let (outer, inner) = (draw(), draw());
        let of = outer.of(&inner).unwrap();
        let elements = |layout: &Layout| layout.blocks().flatten().collect::<Vec<usize>>();
        let inside = elements(&inner);
        let each = |at: &usize| {
            let start = at * inner.extent();
            inside
                .iter()
                .map(move |place| start + place)
                .collect::<Vec<_>>()
        };
        let expected: Vec<usize> = elements(&outer).iter().flat_map(each).collect();
        assert_eq!(elements(&of), expected, "{outer:?} {inner:?}");
        assert_eq!(of.len(), expected.len());
        assert_eq!(of.extent(), outer.extent() * inner.extent());
        assert!(of.reach() <= of.extent());
        assert_eq!(of.reach(), expected.iter().max().map_or(0, |last| last + 1));
    }
}

#[test]
fn sem_g361_layouts_that_cannot_be_are_refused() {
    let told = |made: Result<Layout, LayoutError>| made.unwrap_err().to_string();
    assert_eq!(
        told(Layout::vector(2, 3, 2)),
        "layout: it reaches to element 3, past 2"
    );
    assert_eq!(
        told(Layout::indexed([0..3, 5..6, 2..4])),
        "layout: blocks 0..3 and 2..4 overlap"
    );
    assert!(told(Layout::indexed([Range { start: 3, end: 2 }])).contains("before it begins"));
    assert!(told(Layout::indexed_blocks(2, &[usize::MAX])).contains("usize"));
    assert_eq!(
        told(Layout::subarray(&[4, 4], &[2, 2], &[0, 3])),
        "layout: [2, 2] elements from [0, 3] do not lie in an array of [4, 4]"
    );
    assert!(told(Layout::subarray(&[4], &[2, 2], &[0])).contains("do not lie"));
    let huge = Layout::contiguous(usize::MAX).repeated(2);
    assert!(told(huge).contains("longer"));
    let column = Layout::vector(3, 1, 4).unwrap();
    let short = column.gather(&[0; 8]).unwrap_err().to_string();
    assert_eq!(short, "layout: it reaches to element 9 of an array of 8");
    let mut array = [7; 12];
    let few = column.scatter(&[1, 2], &mut array).unwrap_err().to_string();
    assert_eq!(few, "layout: 2 elements for one of 3");
    assert_eq!(array, [7; 12]);
}

#[test]
fn a_layout_ascends_if_its_blocks_do() -> Result<(), LayoutError> {
    let backwards = Layout::indexed([3..5, 0..2])?;
    let interleaved = Layout::indexed([0..1, 4..5])?;
    let column = Layout::subarray(&[3, 1, 4], &[2, 1, 2], &[1, 0, 1])?;
    let mut all = vec![
        Layout::contiguous(0),
        Layout::contiguous(3),
        Layout::vector(3, 2, 5)?,
        Layout::vector(1, 2, 5)?,
        backwards,
        interleaved,
        column,
    ];
    let few = all.clone();
    for (outer, inner) in few
        .iter()
        .flat_map(|outer| few.iter().map(move |it| (outer, it)))
    {
        all.push(outer.of(inner)?);
        all.push(outer.of(inner)?.repeated(2)?);
    }
    for layout in &all {
        let blocks: Vec<_> = layout.blocks().collect();
        let ascends = blocks.is_sorted_by(|one, next| one.end <= next.start);
        assert_eq!(layout.ascends(), ascends, "{layout:?}");
    }
    assert!(all.iter().any(|layout| !layout.ascends()));
    // With more blocks than can be looked at one by one.
    assert!(Layout::vector(usize::MAX / 4, 1, 2)?.ascends());
    Ok(())
}
