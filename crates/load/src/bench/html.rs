//! A report as one HTML page with inline SVG; it loads nothing.

use std::fmt::Write;

use super::report::Report;

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 240.0;
/// Margins for labels at the left, right, top and bottom.
const LEFT: f64 = 70.0;
const RIGHT: f64 = 15.0;
const TOP: f64 = 15.0;
const BOTTOM: f64 = 30.0;

const STYLE: &str = "
body{font:15px/1.4 system-ui,sans-serif;max-width:960px;margin:2em auto;padding:0 1em;color:#223}
h1{font-size:1.5em}h2{font-size:1.1em;margin:1.6em 0 .3em}
table{border-collapse:collapse;margin:.5em 0}td,th{padding:.2em .8em;border-bottom:1px solid #dde}
td{text-align:right}td:first-child,th:first-child{text-align:left}th{font-weight:600}
svg{width:100%;height:auto}.grid{stroke:#e3e6ee}.axis{font-size:11px;fill:#667}
.l0{stroke:#2463c9}.l1{stroke:#d3572a}.l2{stroke:#2a8f5d}.l3{stroke:#8a4fbf}.l4{stroke:#b08a10}
.l5{stroke:#1f8f9f}.l6{stroke:#b03060}.l7{stroke:#555}
path{fill:none;stroke-width:1.8}
.k{display:inline-block;width:1.2em;height:3px;margin:0 .4em .25em 1em}
";

const COLOURS: [&str; 8] = [
    "#2463c9", "#d3572a", "#2a8f5d", "#8a4fbf", "#b08a10", "#1f8f9f", "#b03060", "#555",
];

struct Plot {
    title: &'static str,
    lines: Vec<(String, Vec<(f64, f64)>)>,
    logarithmic_x: bool,
    logarithmic_y: bool,
}

impl Report {
    /// Returns the report as one page with plots over time that needs no other file.
    pub fn html(&self) -> String {
        page(self)
    }
}

fn page(report: &Report) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>{title}</title>\
         <style>{STYLE}</style>\n<h1>{title}</h1>\n<p><b>{rate:.0} operations/s</b>: {operations} \
         in {elapsed:.2} s, {failures} answered otherwise than expected, {lost} not answered</p>\n",
        title = escape(&report.title),
        rate = report.rate,
        operations = report.operations,
        elapsed = report.elapsed_s,
        failures = report.failures,
        lost = report.lost,
    );
    for note in report.notes.iter().chain(&report.fates()) {
        let _ = write!(out, "<p>{}", escape(note));
    }
    latency_table(&mut out, report);
    resource_table(&mut out, report);
    for plot in plots(report) {
        draw(&mut out, &plot);
    }
    if !report.surprises.is_empty() {
        out.push_str("<h2>Unexpected answers</h2>\n<table>");
        for (what, count) in &report.surprises {
            let _ = write!(out, "<tr><td>{}<td>{count}", escape(what));
        }
        out.push_str("</table>\n");
    }
    out.push_str("<h2>Settings</h2>\n<table>");
    for (name, value) in &report.settings {
        let _ = write!(out, "<tr><td>{}<td>{}", escape(name), escape(value));
    }
    out.push_str("</table>\n</html>\n");
    out
}

fn latency_table(out: &mut String, report: &Report) {
    out.push_str(
        "<h2>Latency in microseconds</h2>\n<table><tr><th><th>operations<th>failures<th>entries\
         <th>mean<th>p50<th>p90<th>p99<th>p99.9<th>p99.99<th>max",
    );
    for job in &report.jobs {
        let it = &job.latency;
        let _ = write!(
            out,
            "<tr><td>{}<td>{}<td>{}<td>{}<td>{:.1}<td>{:.1}<td>{:.1}<td>{:.1}<td>{:.1}<td>{:.1}\
             <td>{:.1}",
            job.kind.name(),
            job.operations,
            job.failures,
            job.entries,
            it.mean_us,
            it.p50_us,
            it.p90_us,
            it.p99_us,
            it.p999_us,
            it.p9999_us,
            it.max_us,
        );
    }
    out.push_str("</table>\n");
}

fn resource_table(out: &mut String, report: &Report) {
    out.push_str("<h2>CPU and memory</h2>\n<table>");
    if let Some(server) = &report.server {
        let _ = write!(
            out,
            "<tr><td>server CPU for each operation<td>{:.2} us<tr><td>of it in the kernel\
             <td>{:.0} %<tr><td>server memory<td>{} MB<tr><td>of it no file<td>{} MB",
            server.us_per_operation,
            server.system_share * 100.0,
            server.resident_bytes >> 20,
            server.anonymous_bytes >> 20,
        );
    }
    let _ = write!(
        out,
        "<tr><td>client CPU for each operation<td>{:.2} us",
        report.client_us_per_operation
    );
    out.push_str("</table>\n");
}

fn plots(report: &Report) -> Vec<Plot> {
    let over_time = |value: fn(&super::Second) -> f64| -> Vec<(f64, f64)> {
        report
            .seconds
            .iter()
            .map(|second| (second.second as f64, value(second)))
            .collect()
    };
    let named = |name: &str, points| (name.to_owned(), points);
    let plot = |title, lines| Plot {
        title,
        lines,
        logarithmic_x: false,
        logarithmic_y: false,
    };
    let mut plots = vec![
        plot(
            "Operations in each second (warm-up left of 0)",
            vec![named(
                "operations",
                over_time(|second| second.operations as f64),
            )],
        ),
        Plot {
            logarithmic_y: true,
            ..plot(
                "Latency in each second, microseconds",
                vec![
                    named("p50", over_time(|second| second.p50_us)),
                    named("p99", over_time(|second| second.p99_us)),
                ],
            )
        },
    ];
    if report.server.is_some() {
        let cores = named("cores", over_time(|second| second.server_cores));
        plots.push(plot("Server CPU in each second, cores", vec![cores]));
        let memory = over_time(|second| second.server_anonymous_bytes as f64 / 1e6);
        let memory = vec![named("memory", memory)];
        plots.push(plot("Server memory that is no file, MB", memory));
    }
    if report.seconds.iter().any(|second| second.file_bytes > 0) {
        let size = named("size", over_time(|second| second.file_bytes as f64 / 1e6));
        plots.push(plot("Size of the watched file, MB", vec![size]));
    }
    let curves = report.jobs.iter().map(|job| {
        let points = job
            .curve
            .iter()
            .map(|(slower, us)| (1.0 / slower, *us))
            .collect();
        named(job.kind.name(), points)
    });
    plots.push(Plot {
        title: "Latency of the slowest one in so many operations, microseconds",
        lines: curves.collect(),
        logarithmic_x: true,
        logarithmic_y: true,
    });
    plots
}

/// An axis, which gives a value its place from 0 to 1.
struct Axis {
    low: f64,
    high: f64,
    logarithmic: bool,
}

impl Axis {
    fn over(values: impl Iterator<Item = f64>, logarithmic: bool, from_zero: bool) -> Axis {
        let usable = values.filter(|value| value.is_finite() && (!logarithmic || *value > 0.0));
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in usable {
            low = low.min(value);
            high = high.max(value);
        }
        if low > high {
            (low, high) = (1.0, 10.0);
        }
        if logarithmic {
            low = 10f64.powf(low.log10().floor());
            high = 10f64.powf(high.log10().ceil()).max(low * 10.0);
        } else {
            low = if from_zero { low.min(0.0) } else { low };
            high = if high > low { high } else { low + 1.0 };
        }
        Axis {
            low,
            high,
            logarithmic,
        }
    }

    fn place(&self, value: f64) -> f64 {
        let scaled = |it: f64| {
            if self.logarithmic {
                it.max(self.low).log10()
            } else {
                it
            }
        };
        (scaled(value) - scaled(self.low)) / (scaled(self.high) - scaled(self.low))
    }

    fn ticks(&self) -> Vec<f64> {
        if self.logarithmic {
            let decades = (self.high / self.low).log10().round() as i32;
            return (0..=decades)
                .map(|decade| self.low * 10f64.powi(decade))
                .collect();
        }
        let rough = (self.high - self.low) / 5.0;
        let magnitude = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .map(|factor| factor * magnitude)
            .into_iter()
            .find(|step| *step >= rough)
            .unwrap_or(rough);
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step).floor() as i64;
        (first..=last).map(|number| number as f64 * step).collect()
    }
}

fn draw(out: &mut String, plot: &Plot) {
    let points = || plot.lines.iter().flat_map(|(_, points)| points);
    let x = Axis::over(points().map(|point| point.0), plot.logarithmic_x, false);
    let y = Axis::over(points().map(|point| point.1), plot.logarithmic_y, true);
    let left = |value: f64| LEFT + x.place(value) * (WIDTH - LEFT - RIGHT);
    let top = |value: f64| HEIGHT - BOTTOM - y.place(value) * (HEIGHT - TOP - BOTTOM);
    let _ = write!(out, "<h2>{}", plot.title);
    if plot.lines.len() > 1 {
        for (number, (name, _)) in plot.lines.iter().enumerate() {
            let colour = COLOURS[number % COLOURS.len()];
            let _ = write!(
                out,
                "<span class=k style=\"background:{colour}\"></span>{name}"
            );
        }
    }
    let _ = write!(
        out,
        "</h2>\n<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\">"
    );
    for tick in y.ticks() {
        let at = top(tick);
        let _ = write!(
            out,
            "<line class=grid x1={LEFT} x2={} y1={at:.1} y2={at:.1} />\
             <text class=axis x={} y={:.1} text-anchor=end>{}</text>",
            WIDTH - RIGHT,
            LEFT - 6.0,
            at + 4.0,
            label(tick),
        );
    }
    for tick in x.ticks() {
        let at = left(tick);
        let _ = write!(
            out,
            "<text class=axis x={at:.1} y={} text-anchor=middle>{}</text>",
            HEIGHT - 10.0,
            label(tick),
        );
    }
    for (number, (_, points)) in plot.lines.iter().enumerate() {
        let _ = write!(out, "<path class=l{} d=\"", number % COLOURS.len());
        for (position, point) in points.iter().enumerate() {
            let command = if position == 0 { 'M' } else { 'L' };
            let _ = write!(out, "{command}{:.1} {:.1}", left(point.0), top(point.1));
        }
        out.push_str("\"/>");
    }
    out.push_str("</svg>\n");
}

fn label(value: f64) -> String {
    let size = value.abs();
    if size >= 1e6 {
        format!("{} M", trimmed(value / 1e6))
    } else if size >= 1e3 {
        format!("{} k", trimmed(value / 1e3))
    } else {
        trimmed(value)
    }
}

fn trimmed(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
