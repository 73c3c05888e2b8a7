#pragma once

#include "record/run_record.h"

namespace trainyard::store {

// PlannedRun is one run that a study expects: a cell of its matrix, once per replicate.
struct PlannedRun {
  std::int64_t position = 0;  // in the order of the plan
  std::string cell;
  int replicate = 1;
  record::Settings settings;
};

// Store holds all runs of a study, in one SQLite file (JSON lines in a build without SQLite). Any number of
// processes may have it open and write; a run, once added, is never changed or removed.
class Store {
 public:
  enum class Access { read, write };

  // read: Error (config) when the file is missing. Both: Error (config) when it is no store, is damaged, or
  // was written by a newer schema; older schemas are migrated (write) or read as they are (read).
  Store(const std::filesystem::path& file, Access access);
  ~Store();
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;

  // Sets the study's name and the expected runs, in place of those of an earlier version of its file. Throws
  // Error (usage) when the store belongs to a study of another name.
  void plan(const std::string& study, const std::vector<PlannedRun>& expected);
  std::string study() const;
  std::vector<PlannedRun> planned() const;  // in the order of the plan

  // Returns false when a run of that id exists already; then nothing changes.
  bool add(const record::RunRecord& run);
  // Adds all runs at once, in their order, which for many is far faster than one by one. Returns the number
  // of new ones.
  int add(std::span<const record::RunRecord> runs);
  bool contains(const std::string& run_id) const;
  std::vector<record::RunRecord> runs() const;  // in the order they were added

  // Returns "" when SQLite finds the file sound, else its first complaint.
  std::string integrity() const;

  // Returns the name of the file in a study's folder.
  static const char* file_name();
  static std::string library();  // "SQLite 3.40.1"

 private:
  struct Content;
  std::unique_ptr<Content> content_;
};

}  // namespace trainyard::store
