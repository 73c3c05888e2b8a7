#include "study/import_remake.h"

#include <array>
#include <charconv>
#include <map>

#include <fmt/core.h>

#include "base/error.h"
#include "study/fc_counts.h"
#include "study/trimmed.h"

namespace trainyard::study {
namespace {

using record::RunRecord;

constexpr std::string_view kHead =
    "device,input_type,layers,nodes,batch_size,input_size,output_size,#params,duration,tflops";
constexpr std::size_t kRemakeColumns = 10;
constexpr double kTimedSteps = 100;  // that `duration` is of, after 300 of warm-up

using Fields = std::array<std::string_view, kRemakeColumns>;

// What an error names: the file and the line within it.
struct Place {
  const std::string& file;
  std::size_t line;
};

Fields split(const Place& place, std::string_view line) {
  Fields fields;
  std::size_t count = 0;
  for (std::string_view rest = line;; ++count) {
    const std::size_t comma = rest.find(',');
    if (count < kRemakeColumns) fields[count] = trimmed(rest.substr(0, comma));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (count + 1 != kRemakeColumns)
    fail(ErrorKind::config, "'{}' line {}: {} fields, {} are needed", place.file, place.line, count + 1,
         kRemakeColumns);
  return fields;
}

template <typename Number>
Number number(const Place& place, const char* name, std::string_view text, Number least) {
  Number value{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() || !(value >= least))
    fail(ErrorKind::config, "'{}' line {}: {} is '{}', not a number from {}", place.file, place.line, name,
         text, least);
  return value;
}

// "NVIDIA A100 80GB PCIe" as part of a file's name.
std::string slug(std::string_view name) {
  std::string result;
  for (const char c : name)
    result += std::isalnum(static_cast<unsigned char>(c)) != 0
                  ? static_cast<char>(std::tolower(static_cast<unsigned char>(c)))
                  : '-';
  return result;
}

RunRecord record_of(const Place& place, const Fields& fields) {
  const auto count = [&](const char* name, std::size_t column) {
    return number<std::int64_t>(place, name, fields[column], 1);
  };
  const FcPoint point{count("layers", 2), count("nodes", 3), count("input_size", 5), count("output_size", 6),
                      count("batch_size", 4)};
  RunRecord run;
  run.command = "import";
  run.asked = point.settings();
  run.asked["device"] = std::string(fields[0]);
  run.asked["precision"] = std::string(fields[1]);
  run.asked["optimizer"] = std::string("adam");
  run.id = fmt::format("remake-{}-{}-l{}-n{}-i{}-o{}-b{}", slug(fields[0]), slug(fields[1]), point.layers,
                       point.width, point.inputs, point.classes, point.batch);
  run.provenance = {{"import", "from", std::string("pytorch-paradnn, FC")}, {"import", "file", place.file}};
  run.images_per_step = static_cast<double>(point.batch);
  const FcCounts counts = count_fc(point, point.layers);
  run.figures = {{"parameters", counts.parameters},
                 {"flops_per_step", counts.flops_per_step},
                 {"published_parameters", number<double>(place, "#params", fields[7], 0)}};
  // Half-precision points moved elements of another size.
  if (fields[1] == "f32") run.figures["bytes_per_step"] = counts.bytes_per_step;
  const auto seconds = number<double>(place, "duration", fields[8], 0);
  const auto published = number<double>(place, "tflops", fields[9], 0);
  if (seconds == 0) {
    run.status = record::Status::oom;
    run.reason = "duration 0: out of memory";
    return run;
  }
  run.images_per_second = run.images_per_step * kTimedSteps / seconds;
  run.figures["mean_step_seconds"] = seconds / kTimedSteps;
  run.figures["published_flops_per_second"] = published * 1e12;
  run.figures["flops_per_second"] = counts.flops_per_step * kTimedSteps / seconds;
  return run;
}

}  // namespace

bool is_remake(std::string_view text) { return text.starts_with("device,input_type,"); }

std::vector<RunRecord> import_remake(const std::string& file, std::string_view text) {
  std::vector<RunRecord> runs;
  std::map<std::string, int> seen;
  Place place{file, 0};
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++place.line;
    if (place.line == 1 && line != kHead)
      fail(ErrorKind::config, "'{}' line 1: the columns are not {}", file, kHead);
    if (place.line == 1 || line.empty()) continue;
    RunRecord run = record_of(place, split(place, line));
    if (const int replicate = ++seen[run.id]; replicate > 1) run.id += fmt::format("-r{}", replicate);
    runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace trainyard::study
