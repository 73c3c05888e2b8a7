#include "study/import_study.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "study/plan.h"
#include "study/study_lock.h"

namespace trainyard::study {
namespace {

using CellReplicate = std::pair<std::string, int>;

// One file for all of them (docs/adr/0012-many-records-in-one-file.md).
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
