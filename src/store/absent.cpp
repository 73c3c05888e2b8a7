// Without SQLite a store is a file of JSON lines, one for each plan or run, appended under a lock. The last
// plan counts. The next writer drops a line that a crash cut short.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "base/error.h"
#include "base/json.h"
#include "store/store.h"

namespace trainyard::store {

struct Store::Content {
  std::filesystem::path file;
  Access access;

  // Returns every whole line; `whole` receives the bytes they take.
  std::vector<Json> lines(std::uintmax_t* whole = nullptr) const {
    std::ifstream input(file, std::ios::binary);
    std::vector<Json> found;
    std::uintmax_t bytes = 0;
    for (std::string line; std::getline(input, line) && !input.eof();) {
      Json json = parse_json_or_discard(line);
      if (!json.is_object() || (!json.contains("run") && !json.contains("study")))
        fail(ErrorKind::config, "store '{}': line {} is damaged", file.string(), found.size() + 1);
      found.push_back(std::move(json));
      bytes += line.size() + 1;
    }
    if (whole != nullptr) *whole = bytes;
    return found;
  }

  // Appends, under the lock, the lines that `make` derives from the existing ones; returns how many.
  template <typename Make>
  int append(const Make& make) const {
    const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (descriptor < 0 || ::flock(descriptor, LOCK_EX) != 0) refuse(descriptor);
    try {
      std::uintmax_t whole = 0;
      const std::vector<Json> before = lines(&whole);
      const std::vector<Json> made = make(before);
      std::string text;
      for (const Json& json : made) text += json_text(json) + "\n";
      const auto end = static_cast<off_t>(whole);
      if (!text.empty() &&
          (::ftruncate(descriptor, end) != 0 ||
           ::pwrite(descriptor, text.data(), text.size(), end) != static_cast<ssize_t>(text.size()) ||
           ::fdatasync(descriptor) != 0))
        refuse(-1);
      ::close(descriptor);
      return static_cast<int>(made.size());
    } catch (...) {
      ::close(descriptor);
      throw;
    }
  }

  [[noreturn]] void refuse(int descriptor) const {
    const int reason = errno;
    if (descriptor >= 0) ::close(descriptor);
    fail(ErrorKind::io, "store '{}': {}", file.string(), std::strerror(reason));
  }
};

Store::Store(const std::filesystem::path& file, Access access) : content_(new Content{file, access}) {
  if (access == Access::read && !std::filesystem::exists(file))
    fail(ErrorKind::config, "store '{}' does not exist", file.string());
  if (access == Access::write) content_->append([](const auto&) { return std::vector<Json>(); });
  content_->lines();
}

Store::~Store() = default;
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;

const char* Store::file_name() { return "store.jsonl"; }

std::string Store::library() { return "JSON lines"; }

void Store::plan(const std::string& study, const std::vector<PlannedRun>& expected) {
  Json rows = Json::array();
  for (const PlannedRun& run : expected)
    rows.push_back({{"position", run.position},
                    {"cell", run.cell},
                    {"replicate", run.replicate},
                    {"settings", parse_json(record::to_json(run.settings))}});
  content_->append([&](const std::vector<Json>& before) {
    for (const Json& line : before)
      if (line.contains("study") && line["study"] != study)
        fail(ErrorKind::usage, "store '{}' belongs to study '{}', not to '{}'", content_->file.string(),
             line["study"].get<std::string>(), study);
    return std::vector<Json>{Json{{"study", study}, {"planned", rows}}};
  });
}

std::string Store::study() const {
  for (const Json& line : content_->lines())
    if (line.contains("study")) return line["study"].get<std::string>();
  return "";
}

std::vector<PlannedRun> Store::planned() const {
  std::vector<PlannedRun> planned;
  for (const Json& line : content_->lines()) {
    if (!line.contains("planned")) continue;
    planned.clear();
    for (const Json& row : line["planned"])
      planned.push_back({row["position"].get<std::int64_t>(), row["cell"].get<std::string>(),
                         row["replicate"].get<int>(),
                         record::settings_from_json(json_text(row["settings"]))});
  }
  return planned;
}

bool Store::add(const record::RunRecord& run) { return add({&run, 1}) == 1; }

int Store::add(std::span<const record::RunRecord> runs) {
  return content_->append([&](const std::vector<Json>& before) {
    std::set<std::string> known;
    for (const Json& line : before)
      if (line.contains("run")) known.insert(line["run"]["id"].get<std::string>());
    std::vector<Json> lines;
    for (const record::RunRecord& run : runs)
      if (known.insert(run.id).second) lines.push_back({{"run", parse_json(record::to_json(run))}});
    return lines;
  });
}

bool Store::contains(const std::string& run_id) const {
  for (const Json& line : content_->lines())
    if (line.contains("run") && line["run"]["id"] == run_id) return true;
  return false;
}

std::vector<record::RunRecord> Store::runs() const {
  std::vector<record::RunRecord> runs;
  for (const Json& line : content_->lines())
    if (line.contains("run")) runs.push_back(record::run_record_from_json(json_text(line["run"])));
  return runs;
}

std::string Store::integrity() const {
  content_->lines();
  return "";
}

}  // namespace trainyard::store
