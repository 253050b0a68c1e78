//! A page to draw on, kept as SVG or as PNG.
//!
//! Everything is drawn at twice its size, so that lines do not stand on whole pixels of the page.
//! An SVG says how large it is meant to be.

use crate::text::escape;
use plotters::coord::Shift;
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontTransform, register_font};

/// How many units of drawing one unit of the page has.
const FINE: f64 = 2.0;

const FONT: &str = "sans-serif";

/// Where a text is attached.
#[derive(Debug, Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// What is drawn on. Coordinates are in pixels of the page.
pub(super) struct Canvas<'a, B: DrawingBackend> {
    area: &'a DrawingArea<B, Shift>,
}

/// The picture as an SVG document; `title` is what readers without eyes hear.
pub(super) fn svg(
    [width, height]: [f64; 2],
    title: &str,
    draw: impl FnOnce(&Canvas<'_, SVGBackend<'_>>),
) -> String {
    let mut text = String::new();
    {
        use_font();
        let area = SVGBackend::with_string(&mut text, fine([width, height])).into_drawing_area();
        draw(&Canvas { area: &area });
        area.present().expect("memory can be drawn on");
    }
    // The size on the page, then the size of the drawing.
    let [wide, high] = [width * FINE, height * FINE];
    let (_, rest) = text.split_once('>').unwrap_or_default();
    let title = escape(title);
    format!(
        "<svg width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {wide} {high}\" \
         xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-label=\"{title}\">{rest}"
    )
}

/// The picture as a PNG file.
pub(super) fn png(
    [width, height]: [f64; 2],
    draw: impl FnOnce(&Canvas<'_, BitMapBackend<'_>>),
) -> Vec<u8> {
    let (wide, high) = fine([width, height]);
    let mut pixels = vec![255; wide as usize * high as usize * 3];
    {
        use_font();
        let area = BitMapBackend::with_buffer(&mut pixels, (wide, high)).into_drawing_area();
        draw(&Canvas { area: &area });
        area.present().expect("memory can be drawn on");
    }
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, wide, high);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let written = encoder
        .write_header()
        .and_then(|mut writer| writer.write_image_data(&pixels));
    written.expect("the buffer has the size that the header says");
    file
}

impl<B: DrawingBackend> Canvas<'_, B> {
    pub(super) fn fill(&self, colour: RGBColor) {
        self.done(self.area.fill(&colour));
    }

    /// A line through points; `dash` is the length of its strokes and gaps.
    pub(super) fn line(
        &self,
        points: &[[f64; 2]],
        width: f64,
        colour: RGBColor,
        dash: Option<f64>,
    ) {
        let style = colour.stroke_width((width * FINE).round() as u32);
        let points = points.iter().map(|&at| place(at));
        match dash {
            None => {
                let path = PathElement::new(points.collect::<Vec<_>>(), style);
                self.done(self.area.draw(&path));
            }
            Some(dash) => {
                let length = (dash * FINE) as i32;
                let path = DashedPathElement::new(points, length, length, style);
                self.done(self.area.draw(&path));
            }
        }
    }

    /// A filled polygon, lighter than its colour.
    pub(super) fn veil(&self, points: &[[f64; 2]], colour: RGBColor, opacity: f64) {
        let points: Vec<_> = points.iter().map(|&at| place(at)).collect();
        self.done(self.area.draw(&Polygon::new(points, colour.mix(opacity))));
    }

    pub(super) fn disc(&self, at: [f64; 2], radius: f64, fill: RGBColor, edge: Option<RGBColor>) {
        let radius = radius * FINE;
        self.done(
            self.area
                .draw(&Circle::new(place(at), radius, fill.filled())),
        );
        if let Some(edge) = edge {
            let style = edge.stroke_width(3);
            self.done(self.area.draw(&Circle::new(place(at), radius, style)));
        }
    }

    /// A filled polygon with or without an edge of another colour.
    pub(super) fn polygon(&self, points: &[[f64; 2]], fill: RGBColor, edge: Option<RGBColor>) {
        self.veil(points, fill, 1.0);
        if let (Some(edge), Some(&first)) = (edge, points.first()) {
            let mut round = points.to_vec();
            round.push(first);
            self.line(&round, 1.5, edge, None);
        }
    }

    /// A text with its middle line at `at`; `upright` turns it to be read from below.
    pub(super) fn text(
        &self,
        at: [f64; 2],
        size: f64,
        colour: RGBColor,
        anchor: Anchor,
        upright: bool,
        text: &str,
    ) {
        let horizontal = match anchor {
            Anchor::Start => HPos::Left,
            Anchor::Middle => HPos::Center,
            Anchor::End => HPos::Right,
        };
        let turn = if upright {
            FontTransform::Rotate270
        } else {
            FontTransform::None
        };
        let font = (FONT, size * FINE).into_font().transform(turn);
        let style = font.color(&colour).pos(Pos::new(horizontal, VPos::Center));
        self.done(
            self.area
                .draw(&Text::new(text.to_owned(), place(at), style)),
        );
    }

    fn done<E: std::error::Error + Send + Sync>(&self, drawn: Result<(), DrawingAreaErrorKind<E>>) {
        // The font is there and memory can be drawn on.
        drawn.expect("a picture in memory can be drawn");
    }
}

/// The width of a text in pixels of the page.
pub(super) fn text_width(size: f64, text: &str) -> f64 {
    use_font();
    let font = (FONT, size * FINE).into_font();
    let ((left, _), (right, _)) = font.layout_box(text).unwrap_or_default();
    f64::from(right - left) / FINE
}

/// Pictures look alike on machines with other fonts, or none.
fn use_font() {
    let known = register_font(
        FONT,
        FontStyle::Normal,
        include_bytes!("../../data/fonts/sans.ttf"),
    );
    assert!(known.is_ok(), "the font that comes with the program is one");
}

fn fine([width, height]: [f64; 2]) -> (u32, u32) {
    ((width * FINE) as u32, (height * FINE) as u32)
}

fn place([x, y]: [f64; 2]) -> (i32, i32) {
    ((x * FINE).round() as i32, (y * FINE).round() as i32)
}
