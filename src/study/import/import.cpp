#include "study/import/import.h"

#include <charconv>

#include "base/file.h"
#include "study/import/paradnn.h"
#include "study/import/psc.h"
#include "study/import/psc_log.h"
#include "study/spec/plan.h"

namespace trainyard::study {

namespace {

namespace fs = std::filesystem;
using record::RunRecord;

// Returns nothing when the file is of none of the formats.
std::vector<RunRecord> import_file(const fs::path& file, bool named) {
  const std::vector<std::byte> content = read_file(file);
  const std::string_view text(reinterpret_cast<const char*>(content.data()), content.size());
  if (is_remake(text)) return import_remake(file.filename(), text);
  // A user who names a JSON file should learn where it is damaged.
  if (is_paradnn(text) || (named && text.starts_with('{'))) return import_paradnn(file.filename(), text);
  return import_psc({file});
}

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

constexpr const char* kNoFormat = "no job output of PSC, JSON of ParaDnn or CSV of its re-make";

// Collection takes in the runs of a file that are not there yet, because PSC's job outputs exist in several
// copies.
class Collection {
 public:
  explicit Collection(std::vector<LeftOut>* left_out) : left_out_(left_out) {}

  // Returns false when the file holds no run.
  bool add(const fs::path& file, std::vector<RunRecord> found) {
    if (found.empty()) {
      leave_out(file, kNoFormat);
      return false;
    }
    std::string copied;
    bool some_new = false;
    for (RunRecord& run : found) {
      const auto [place, is_new] = sources_.emplace(run.id, file);
      if (!is_new && place->second != file) copied = place->second.string();
      if (is_new) runs_.push_back(std::move(run));
      some_new = some_new || is_new;
    }
    if (!some_new) leave_out(file, "the same run as '" + copied + "'");
    return true;
  }
  std::vector<RunRecord> take() { return std::move(runs_); }

 private:
  void leave_out(const fs::path& file, const std::string& reason) {
    if (left_out_ != nullptr) left_out_->push_back({file, reason});
  }

  std::vector<LeftOut>* left_out_;
  std::vector<RunRecord> runs_;
  std::map<std::string, fs::path> sources_;  // by run
};

}  // namespace

std::vector<RunRecord> import_published(const std::vector<fs::path>& paths, std::vector<LeftOut>* left_out) {
  Collection collection(left_out);
  for (const fs::path& path : paths) {
    if (!fs::is_directory(path)) {
      if (!collection.add(path, import_file(path, true)))
        fail(ErrorKind::config,
             "'{}' is neither a job output of PSC, nor JSON of ParaDnn or CSV of its re-make", path.string());
      continue;
    }
    for (const fs::path& file : files_below(path)) collection.add(file, import_file(file, false));
  }
  std::vector<RunRecord> runs = collection.take();
  std::stable_sort(runs.begin(), runs.end(), [](const RunRecord& a, const RunRecord& b) {
    return a.started_seconds < b.started_seconds;
  });
  std::map<std::string, int> replicates;
  for (RunRecord& run : runs) run.replicate = ++replicates[record::to_json(run.asked)];
  return runs;
}

namespace {

constexpr std::string_view kHead =
    "device,input_type,layers,nodes,batch_size,input_size,output_size,#params,duration,tflops";
constexpr std::size_t kRemakeColumns = 10;
constexpr double kTimedSteps = 100;  // that `duration` is of, after 300 of warm-up

using Fields = std::array<std::string_view, kRemakeColumns>;

// Place is the file and line that an error names.
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

// Turns "NVIDIA A100 80GB PCIe" into a part of a file's name.
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

namespace {

using CellReplicate = std::pair<std::string, int>;

// Writes one file for all of them (docs/adr/0012-many-records-in-one-file.md).
void write_records(const std::vector<record::RunRecord>& runs, const Folder& folder) {
  AtomicFile file(folder.record_lines(runs.back().id));
  for (const record::RunRecord& run : runs) file.write(record::to_json(run) + "\n");
  file.commit();
}

}  // namespace

void refuse_to_import(const Folder& folder) {
  refuse_foreign(folder);
  const auto is_own = [](const record::RunRecord& run) { return run.command != "import"; };
  bool own = std::filesystem::exists(folder.spec());
  if (!own && std::filesystem::exists(folder.store())) {
    const std::vector<record::RunRecord> there =
        store::Store(folder.store(), store::Store::Access::read).runs();
    own = std::any_of(there.begin(), there.end(), is_own);
  }
  if (own)
    fail(ErrorKind::usage, "'{}' holds a study of its own runs: imported ones want another folder",
         folder.path.string());
}

int import_study(const Folder& folder, const std::string& name, const std::vector<record::RunRecord>& runs) {
  refuse_to_import(folder);
  for (const std::filesystem::path& path : {folder.path, folder.records()}) make_folders(path);
  const StudyLock lock(folder);
  store::Store store(folder.store(), store::Store::Access::write);
  std::vector<store::PlannedRun> planned = store.planned();
  std::set<CellReplicate> expected, done;
  for (const store::PlannedRun& run : planned) expected.insert({run.cell, run.replicate});
  std::set<std::string> known;
  for (const record::RunRecord& run : store.runs()) {
    done.insert({run.cell, run.replicate});
    known.insert(run.id);
  }
  std::vector<record::RunRecord> added;
  for (record::RunRecord run : runs) {
    if (!known.insert(run.id).second) continue;
    run.study = name;
    if (run.cell.empty()) run.cell = content_hash("import\n" + record::to_json(run.asked));
    while (!done.insert({run.cell, run.replicate}).second) ++run.replicate;
    if (expected.insert({run.cell, run.replicate}).second)
      planned.push_back({static_cast<std::int64_t>(planned.size()), run.cell, run.replicate, run.asked});
    added.push_back(std::move(run));
  }
  store.plan(name, planned);
  if (added.empty()) return 0;
  write_records(added, folder);
  return store.add(added);
}

}  // namespace trainyard::study
