#include "study/import_published.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "record/value.h"
#include "study/import_paradnn.h"
#include "study/import_psc.h"
#include "study/import_remake.h"

namespace trainyard::study {
namespace {

namespace fs = std::filesystem;
using record::RunRecord;

// Nothing when the file is of none of the formats.
std::vector<RunRecord> import_file(const fs::path& file, bool named) {
  const std::vector<std::byte> content = read_file(file);
  const std::string_view text(reinterpret_cast<const char*>(content.data()), content.size());
  if (is_remake(text)) return import_remake(file.filename(), text);
  // Who names a JSON file wants to know where it is damaged.
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

// Takes in the runs of a file that are not there yet: PSC's job outputs lie about in several copies.
class Collection {
 public:
  explicit Collection(std::vector<LeftOut>* left_out) : left_out_(left_out) {}

  // False: it holds none.
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

}  // namespace trainyard::study
