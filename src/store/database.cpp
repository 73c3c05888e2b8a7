#include "store/database.h"

#include <iterator>

#include <sqlite3.h>

#include "base/error.h"

namespace trainyard::store {

namespace {

// Another process holds the lock for milliseconds, but a node that hangs should not stop the study for ever.
constexpr int kLockMilliseconds = 30'000;

}  // namespace

Database::Database(const std::filesystem::path& file, Mode mode) : file_(file) {
  if (mode == Mode::read && !std::filesystem::exists(file))
    fail(ErrorKind::config, "store '{}' does not exist", file.string());
  int code = open(mode == Mode::read ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  if (mode == Mode::read && code == SQLITE_READONLY_ROLLBACK) {
    // A process died in the midst of a write. Its changes are taken back by who may write.
    code = open(SQLITE_OPEN_READWRITE);
    if (code == SQLITE_OK) code = open(SQLITE_OPEN_READONLY);
  }
  if (code == SQLITE_OK) return;
  try {
    complain(code);
  } catch (...) {
    sqlite3_close(handle_);
    throw;
  }
}

int Database::open(int flags) {
  sqlite3_close(handle_);
  handle_ = nullptr;
  const int code = sqlite3_open_v2(file_.c_str(), &handle_, flags | SQLITE_OPEN_EXRESCODE, nullptr);
  if (code != SQLITE_OK) return code;
  sqlite3_busy_timeout(handle_, kLockMilliseconds);
  // Reads the header, which tells whether this is a database at all.
  return sqlite3_exec(handle_, "PRAGMA user_version", nullptr, nullptr, nullptr);
}

Database::~Database() { sqlite3_close(handle_); }

void Database::complain(int code) const {
  const int primary = code & 0xff;
  const bool damaged = primary == SQLITE_NOTADB || primary == SQLITE_CORRUPT;
  const std::string advice =
      damaged ? "; the records beside it are the originals: move the store away and it is made again"
      : code == SQLITE_READONLY_ROLLBACK
          ? "; a process died while it wrote: any command on it by who may write to its folder mends that"
          : "";
  fail(damaged ? ErrorKind::config : ErrorKind::io, "store '{}': {}{}", file_.string(),
       handle_ == nullptr ? "out of memory" : sqlite3_errmsg(handle_), advice);
}

void Database::execute(const char* sql) {
  const int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) complain(code);
}

int Database::version() {
  Statement statement(*this, "PRAGMA user_version");
  statement.next();
  return static_cast<int>(statement.integer(0));
}

void Database::set_version(int version) { execute(fmt::format("PRAGMA user_version = {}", version).c_str()); }

Statement::Statement(Database& database, const char* sql) : database_(database) {
  const int code = sqlite3_prepare_v2(database.handle_, sql, -1, &handle_, nullptr);
  if (code != SQLITE_OK) database.complain(code);
}

Statement::~Statement() { sqlite3_finalize(handle_); }

Statement& Statement::bind(int index, std::string_view text) {
  const int code =
      sqlite3_bind_text(handle_, index, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  if (code != SQLITE_OK) database_.complain(code);
  return *this;
}

Statement& Statement::bind(int index, std::int64_t number) {
  if (const int code = sqlite3_bind_int64(handle_, index, number); code != SQLITE_OK)
    database_.complain(code);
  return *this;
}

Statement& Statement::bind(int index, double number) {
  if (const int code = sqlite3_bind_double(handle_, index, number); code != SQLITE_OK)
    database_.complain(code);
  return *this;
}

bool Statement::next() {
  const int code = sqlite3_step(handle_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) database_.complain(code);
  return false;
}

void Statement::reset() {
  sqlite3_reset(handle_);
  sqlite3_clear_bindings(handle_);
}

std::string Statement::text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(handle_, column));
  return text == nullptr ? std::string()
                         : std::string(text, static_cast<std::size_t>(sqlite3_column_bytes(handle_, column)));
}

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(handle_, column); }

Transaction::Transaction(Database& database) : database_(database) { database_.execute("BEGIN IMMEDIATE"); }

Transaction::~Transaction() {
  if (!open_) return;
  try {
    database_.execute("ROLLBACK");
  } catch (const Error&) {  // SQLite rolled it back by itself when it failed
  }
}

void Transaction::commit() {
  database_.execute("COMMIT");
  open_ = false;
}

namespace {

// Entry i leads from version i to i + 1. Entries are only ever added, because files of every version exist.
constexpr const char* kMigrations[] = {
    // 1: a run is its record; the other columns serve the most frequent queries.
    R"(CREATE TABLE study (name TEXT NOT NULL);
       CREATE TABLE planned (
         position INTEGER PRIMARY KEY,
         cell TEXT NOT NULL,
         replicate INTEGER NOT NULL,
         settings TEXT NOT NULL,
         UNIQUE (cell, replicate));
       CREATE TABLE run (
         sequence INTEGER PRIMARY KEY,
         id TEXT NOT NULL UNIQUE,
         cell TEXT NOT NULL,
         replicate INTEGER NOT NULL,
         attempt INTEGER NOT NULL,
         status TEXT NOT NULL,
         reason TEXT NOT NULL,
         record TEXT NOT NULL);
       CREATE TRIGGER run_stays BEFORE UPDATE OF id, record ON run
         BEGIN SELECT RAISE(ABORT, 'runs are never changed'); END;
       CREATE TRIGGER run_remains BEFORE DELETE ON run
         BEGIN SELECT RAISE(ABORT, 'runs are never removed'); END;)",
    // 2: speed and node as columns, for users of SQL.
    R"(ALTER TABLE run ADD COLUMN images_per_second REAL;
       ALTER TABLE run ADD COLUMN median_step_seconds REAL;
       ALTER TABLE run ADD COLUMN node TEXT;
       UPDATE run SET images_per_second = json_extract(record, '$.images_per_second'),
                      median_step_seconds = json_extract(record, '$.step_seconds.median'),
                      node = json_extract(record, '$.node');
       CREATE INDEX run_by_cell ON run (cell, replicate);)",
    // 3: images_per_second counts stalls; its former value stands beside it (run records, schema 2).
    R"(ALTER TABLE run ADD COLUMN median_images_per_second REAL;
       UPDATE run SET median_images_per_second = images_per_second,
                      images_per_second = images_per_second * median_step_seconds
                                          / json_extract(record, '$.step_seconds.mean')
         WHERE json_extract(record, '$.command') IN ('bench', 'train')
           AND json_extract(record, '$.step_seconds.mean') > 0 AND median_step_seconds > 0;)",
    // 4: the measured build; for records that do not name it the commit, as record/build.cpp reads them.
    R"(ALTER TABLE run ADD COLUMN build TEXT;
       UPDATE run SET build = COALESCE(
         json_extract(record, '$.build'), json_extract(record, '$.provenance.build.id'),
         substr(json_extract(record, '$.provenance.build.commit'), 1, 12)
           || CASE json_extract(record, '$.provenance.build.uncommitted_changes') WHEN 1 THEN '+changed' ELSE '' END,
         '')
         WHERE json_extract(record, '$.command') <> 'program';)",
};

void refuse_newer(Database& database, int version) {
  if (version > newest_schema())
    fail(ErrorKind::config,
         "store '{}' has schema {}, but this program reads up to {}: the program is too old",
         database.file().string(), version, newest_schema());
}

}  // namespace

int newest_schema() { return static_cast<int>(std::size(kMigrations)); }

void migrate(Database& database) {
  if (database.version() == newest_schema()) return;
  Transaction transaction(database);  // another process may migrate at the same time
  const int found = database.version();
  refuse_newer(database, found);
  for (int version = found; version < newest_schema(); ++version) {
    database.execute(kMigrations[version]);
    database.set_version(version + 1);
  }
  transaction.commit();
}

void check_readable(Database& database) {
  const int version = database.version();
  refuse_newer(database, version);
  if (version == 0)
    fail(ErrorKind::config, "'{}' is a database, but not a store of trainyard", database.file().string());
}

}  // namespace trainyard::store
