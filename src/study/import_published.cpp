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

void append(std::vector<RunRecord>& runs, std::vector<RunRecord> more) {
  std::move(more.begin(), more.end(), std::back_inserter(runs));
}

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

// One run of each id: PSC's job outputs lie about in several copies.
void keep_first_of_each(std::vector<RunRecord>& runs) {
  std::map<std::string, int> seen;
  std::erase_if(runs, [&](const RunRecord& run) { return seen[run.id]++ > 0; });
}

}  // namespace

std::vector<RunRecord> import_published(const std::vector<fs::path>& paths) {
  std::vector<RunRecord> runs;
  for (const fs::path& path : paths) {
    if (!fs::is_directory(path)) {
      std::vector<RunRecord> found = import_file(path, true);
      if (found.empty())
        fail(ErrorKind::config,
             "'{}' is neither a job output of PSC, nor JSON of ParaDnn or CSV of its re-make", path.string());
      append(runs, std::move(found));
      continue;
    }
    for (const fs::path& file : files_below(path)) append(runs, import_file(file, false));
  }
  keep_first_of_each(runs);
  std::stable_sort(runs.begin(), runs.end(), [](const RunRecord& a, const RunRecord& b) {
    return a.started_seconds < b.started_seconds;
  });
  std::map<std::string, int> replicates;
  for (RunRecord& run : runs) run.replicate = ++replicates[record::to_json(run.asked)];
  return runs;
}

}  // namespace trainyard::study
