#pragma once

#include "store/store.h"

namespace trainyard::study {

// Folder is the directory of a study. Nothing in it is ever overwritten:
//   study.yaml            the file it was made from
//   networks.json         paths and sums of networks that lie in files; absent where there are none
//   store.sqlite          every run, for queries; can be made again from the records
//   records/RUN_ID.json   one file a run, written whole or not at all
//   records/RUN_ID.jsonl  runs that were imported together, one a line, the last of them in the name
//   logs/RUN_ID.log       the output of the run; its creation claims the run id
//   slurm/                job scripts, job files and submissions
//   lock                  held while a process runs the study
struct Folder {
  std::filesystem::path path;

  std::filesystem::path spec() const { return path / "study.yaml"; }
  std::filesystem::path networks() const { return path / "networks.json"; }
  std::filesystem::path store() const { return path / store::Store::file_name(); }
  std::filesystem::path records() const { return path / "records"; }
  std::filesystem::path record(const std::string& run_id) const { return records() / (run_id + ".json"); }
  std::filesystem::path record_lines(const std::string& last_run_id) const {
    return records() / (last_run_id + ".jsonl");
  }
  std::filesystem::path logs() const { return path / "logs"; }
  std::filesystem::path log(const std::string& run_id) const { return logs() / (run_id + ".log"); }
  std::filesystem::path slurm() const { return path / "slurm"; }
};

// Throws Error (usage) when the folder exists, is not empty and is no study.
void refuse_foreign(const Folder& folder);

// The one process that runs a study holds the StudyLock. It goes with its process, however that ends.
class StudyLock {
 public:
  // Throws Error (usage) when another process holds it.
  explicit StudyLock(const Folder& folder);
  // Tells whether some process holds it now.
  static bool is_held(const Folder& folder);
  ~StudyLock();
  StudyLock(const StudyLock&) = delete;
  StudyLock& operator=(const StudyLock&) = delete;

 private:
  int descriptor_;
};

// Makes the store of a folder from its study's file and records, when the store was lost, or when the study
// ran on a machine whose build has another library than SQLite.
void make_store(const Folder& folder);

}  // namespace trainyard::study
