#include "report/export_charts.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>

#include "base/file.h"
#include "data/get/scratch_folder.h"
#include "process/stop_request.h"
#include "report/page.h"
#include "report/text.h"

namespace trainyard::report {

namespace {

constexpr int kWidth = 900;  // pixels

void write(const std::filesystem::path& path, const std::string& text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

std::string read(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = read_file(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Returns the last line that a program printed: there Node and Chromium say what was wrong.
std::string last_line(const std::filesystem::path& log) {
  std::ifstream stream(log);
  std::string line, last;
  while (std::getline(stream, line))
    if (!line.empty()) last = line;
  return last.substr(0, 200);
}

void check_drawn(const process::ChildResult& result, const std::string& program, const std::string& package,
                 const std::filesystem::path& log) {
  if (result.start_errno == ENOENT)
    fail(ErrorKind::io, "report: no program '{}' in PATH to draw charts: install it (Debian: apt install {})",
         program, package);
  if (result.start_errno != 0)
    fail(ErrorKind::io, "report: {} does not start: {}", program, std::strerror(result.start_errno));
  if (result.exit_code != 0)
    fail(ErrorKind::io, "report: {} could not draw a chart (exit code {}): {}", program, result.exit_code,
         last_line(log));
}

void draw_svg(const std::vector<Chart>& charts, const std::vector<Library>& libraries,
              const std::filesystem::path& scratch) {
  write(scratch / "draw.js", fit_script() + kNodeScript);
  std::vector<std::string> command{"node", "draw.js", fmt::format("{}", kWidth)};
  for (const Library& library : libraries)
    if (library.name != "vega-embed") command.push_back(std::filesystem::absolute(library.file).string());
  for (const Chart& chart : charts) {
    write(scratch / (chart.id + ".json"), chart.spec);
    command.push_back(chart.id);
  }
  const std::filesystem::path log = scratch / "node.log";
  check_drawn(process::run_with_ticks(command, scratch, log, process::StopRequest::check), "node", "npm",
              log);
}

// <svg ... width="W" height="H" ...>
int size_in(const std::string& svg, const std::string& attribute) {
  const std::size_t at = svg.find(" " + attribute + "=\"");
  if (at == std::string::npos) fail(ErrorKind::internal, "report: an SVG without its {}", attribute);
  return static_cast<int>(std::strtod(svg.c_str() + at + attribute.size() + 3, nullptr) + 0.999);
}

void draw_png(const std::string& id, const std::filesystem::path& scratch) {
  const std::string svg = read(scratch / (id + ".svg"));
  write(scratch / (id + ".html"), "<!DOCTYPE html><meta charset=\"utf-8\"><body style=\"margin:0\">" + svg);
  const std::filesystem::path log = scratch / "chromium.log", png = scratch / (id + ".png");
  std::vector<std::string> command{
      "chromium",
      "--headless",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--disable-features=NetworkTimeServiceQuerying",
      "--proxy-server=127.0.0.1:9",  // whatever it still asks for goes nowhere
      "--hide-scrollbars",
      "--force-device-scale-factor=2",
      "--user-data-dir=" + (scratch / "profile").string(),
      fmt::format("--window-size={},{}", size_in(svg, "width"), size_in(svg, "height")),
      "--screenshot=" + png.string(),
      "file://" + address_of(scratch / (id + ".html"))};
  if (::geteuid() == 0)
    command.insert(command.begin() + 1, "--no-sandbox");  // Chromium refuses root otherwise
  check_drawn(process::run_with_ticks(command, scratch, log, process::StopRequest::check), "chromium",
              "chromium", log);
  if (!std::filesystem::exists(png))
    fail(ErrorKind::io, "report: chromium drew no picture of chart '{}': {}", id, last_line(log));
}

}  // namespace

const char* name(ImageFormat format) { return format == ImageFormat::svg ? "svg" : "png"; }

std::vector<std::filesystem::path> export_charts(const std::vector<Chart>& charts,
                                                 const std::vector<Library>& libraries,
                                                 const std::filesystem::path& folder, ImageFormat format) {
  std::vector<Chart> drawn;
  std::copy_if(charts.begin(), charts.end(), std::back_inserter(drawn),
               [](const Chart& chart) { return !chart.spec.empty(); });
  if (drawn.empty()) return {};
  const process::StopRequest guard;
  const data::ScratchFolder scratch(folder, ".partial-");
  draw_svg(drawn, libraries, scratch.path());
  if (format == ImageFormat::png)
    for (const Chart& chart : drawn) draw_png(chart.id, scratch.path());
  std::vector<std::filesystem::path> files;
  for (const Chart& chart : drawn) {
    const std::string file = fmt::format("{}.{}", chart.id, name(format));
    write(folder / file, read(scratch.path() / file));
    files.push_back(folder / file);
  }
  return files;
}

// Node has no canvas to measure text with, and Vega's own guess is far too wide: widths of Helvetica's
// letters, in hundredths of the font size, roughly, and a tenth more for wider fonts.
const char* const kNodeScript = R"js('use strict';
const fs = require('fs'), vm = require('vm');
const [width, vega_file, vega_lite_file, ...charts] = process.argv.slice(2);
for (const file of [vega_file, vega_lite_file]) vm.runInThisContext(fs.readFileSync(file, 'utf8'), file);

const letter_width = letter => /[ijl.,:;'|!()\[\] ]/.test(letter) ? 28 : /[mwMW@%]/.test(letter) ? 88 :
  /[A-Z]/.test(letter) ? 68 : /[ftr\-"]/.test(letter) ? 35 : 56;
vega.textMetrics.width = (item, text) => [...String(text ?? '')].reduce((sum, letter) => sum + letter_width(letter), 0) *
  vega.textMetrics.height(item) / 90;

async function draw(chart) {
  const spec = fit_spec(JSON.parse(fs.readFileSync(chart + '.json', 'utf8')), Number(width), 'light');
  spec.background = palettes.light.card;
  const view = new vega.View(vega.parse(vegaLite.compile(spec).spec), {renderer: 'none', logLevel: vega.Error});
  fs.writeFileSync(chart + '.svg', await view.toSVG());
}

(async () => {
  for (const chart of charts) await draw(chart);
})().catch(error => {
  console.error(error.message);
  process.exit(1);
});
)js";

}  // namespace trainyard::report
