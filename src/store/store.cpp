#include "store/store.h"

#include <sqlite3.h>

#include "record/build.h"
#include "store/database.h"

namespace trainyard::store {

struct Store::Content {
  Database database;
};

Store::Store(const std::filesystem::path& file, Access access)
    : content_(new Content{{file, access == Access::read ? Database::Mode::read : Database::Mode::write}}) {
  if (access == Access::read)
    check_readable(content_->database);
  else
    migrate(content_->database);
}

Store::~Store() = default;
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;

const char* Store::file_name() { return "store.sqlite"; }

std::string Store::library() { return std::string("SQLite ") + sqlite3_libversion(); }

void Store::plan(const std::string& study, const std::vector<PlannedRun>& expected) {
  Transaction transaction(content_->database);
  const std::string owner = this->study();
  if (owner.empty())
    Statement(content_->database, "INSERT INTO study (name) VALUES (?)").bind(1, study).next();
  else if (owner != study)
    fail(ErrorKind::usage, "store '{}' belongs to study '{}', not to '{}'",
         content_->database.file().string(), owner, study);
  content_->database.execute("DELETE FROM planned");
  Statement insert(content_->database,
                   "INSERT INTO planned (position, cell, replicate, settings) VALUES (?, ?, ?, ?)");
  for (const PlannedRun& run : expected) {
    insert.bind(1, run.position).bind(2, run.cell).bind(3, std::int64_t{run.replicate});
    insert.bind(4, record::to_json(run.settings)).next();
    insert.reset();
  }
  transaction.commit();
}

std::string Store::study() const {
  Statement statement(content_->database, "SELECT name FROM study");
  return statement.next() ? statement.text(0) : "";
}

std::vector<PlannedRun> Store::planned() const {
  Statement statement(content_->database,
                      "SELECT position, cell, replicate, settings FROM planned ORDER BY position");
  std::vector<PlannedRun> planned;
  while (statement.next())
    planned.push_back({statement.integer(0), statement.text(1), static_cast<int>(statement.integer(2)),
                       record::settings_from_json(statement.text(3))});
  return planned;
}

bool Store::add(const record::RunRecord& run) { return add({&run, 1}) == 1; }

int Store::add(std::span<const record::RunRecord> runs) {
  Transaction transaction(content_->database);
  Statement insert(content_->database,
                   "INSERT INTO run (id, cell, replicate, attempt, status, reason, node, images_per_second, "
                   "median_step_seconds, record, median_images_per_second, build) "
                   "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  int added = 0;
  for (const record::RunRecord& run : runs) {
    TRAINYARD_CHECK(!run.id.empty());
    if (contains(run.id)) continue;
    insert.reset();
    insert.bind(1, run.id).bind(2, run.cell).bind(3, std::int64_t{run.replicate});
    insert.bind(4, std::int64_t{run.attempt}).bind(5, record::name(run.status)).bind(6, run.reason);
    insert.bind(7, run.node);
    if (run.images_per_second) insert.bind(8, *run.images_per_second);  // else NULL
    if (run.statistics.steps > 0) insert.bind(9, run.statistics.median);
    insert.bind(10, record::to_json(run));
    if (const auto found = run.figures.find("median_images_per_second"); found != run.figures.end())
      insert.bind(11, found->second);
    insert.bind(12, record::build_of(run));
    insert.next();
    ++added;
  }
  transaction.commit();
  return added;
}

bool Store::contains(const std::string& run_id) const {
  Statement statement(content_->database, "SELECT 1 FROM run WHERE id = ?");
  return statement.bind(1, run_id).next();
}

std::vector<record::RunRecord> Store::runs() const {
  Statement statement(content_->database, "SELECT record FROM run ORDER BY sequence");
  std::vector<record::RunRecord> runs;
  while (statement.next()) runs.push_back(record::run_record_from_json(statement.text(0)));
  return runs;
}

std::string Store::integrity() const {
  Statement statement(content_->database, "PRAGMA integrity_check");
  const std::string complaint = statement.next() ? statement.text(0) : "no answer";
  return complaint == "ok" ? "" : complaint;
}

}  // namespace trainyard::store
