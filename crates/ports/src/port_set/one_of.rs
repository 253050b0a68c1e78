//! What a [`SharedPortSet`](crate::SharedPortSet) holds: one of its types, told apart by their
//! places.

macro_rules! one_of {
    ($($OneOf:ident: $($P:ident)+;)+) => {$(
        /// An item of one of several types.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $OneOf<$($P),+> {
            $(
                /// An item of the type at this place, counted from 0.
                $P($P),
            )+
        }
    )+};
}

one_of! {
    OneOf2: P0 P1;
    OneOf3: P0 P1 P2;
    OneOf4: P0 P1 P2 P3;
    OneOf5: P0 P1 P2 P3 P4;
    OneOf6: P0 P1 P2 P3 P4 P5;
    OneOf7: P0 P1 P2 P3 P4 P5 P6;
    OneOf8: P0 P1 P2 P3 P4 P5 P6 P7;
    OneOf9: P0 P1 P2 P3 P4 P5 P6 P7 P8;
    OneOf10: P0 P1 P2 P3 P4 P5 P6 P7 P8 P9;
    OneOf11: P0 P1 P2 P3 P4 P5 P6 P7 P8 P9 P10;
    OneOf12: P0 P1 P2 P3 P4 P5 P6 P7 P8 P9 P10 P11;
    OneOf13: P0 P1 P2 P3 P4 P5 P6 P7 P8 P9 P10 P11 P12;
    OneOf14: P0 P1 P2 P3 P4 P5 P6 P7 P8 P9 P10 P11 P12 P13;
    OneOf15: P0 P1 P2 P3 P4 P5 P6 P7 P8 P9 P10 P11 P12 P13 P14;
    OneOf16: P0 P1 P2 P3 P4 P5 P6 P7 P8 P9 P10 P11 P12 P13 P14 P15;
    OneOf17: P0 P1 P2 P3 P4 P5 P6 P7 P8 P9 P10 P11 P12 P13 P14 P15 P16;
    OneOf18: P0 P1 P2 P3 P4 P5 P6 P7 P8 P9 P10 P11 P12 P13 P14 P15 P16 P17;
    OneOf19: P0 P1 P2 P3 P4 P5 P6 P7 P8 P9 P10 P11 P12 P13 P14 P15 P16 P17 P18;
    OneOf20: P0 P1 P2 P3 P4 P5 P6 P7 P8 P9 P10 P11 P12 P13 P14 P15 P16 P17 P18 P19;
}
