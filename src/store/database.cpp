#include "store/database.h"

#include <sqlite3.h>

#include <fmt/core.h>

#include "base/error.h"

namespace trainyard::store {
namespace {

// Another process holds the lock for milliseconds; a node that hangs should not stop the study for ever.
constexpr int kLockMilliseconds = 30'000;

}  // namespace

Database::Database(const std::filesystem::path& file, Mode mode) : file_(file) {
  if (mode == Mode::read && !std::filesystem::exists(file))
    fail(ErrorKind::config, "store '{}' does not exist", file.string());
  const int flags = mode == Mode::read ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  const int code = sqlite3_open_v2(file.c_str(), &handle_, flags | SQLITE_OPEN_EXRESCODE, nullptr);
  try {
    if (code != SQLITE_OK) complain(code);
    sqlite3_busy_timeout(handle_, kLockMilliseconds);
    version();  // reads the header: finds out whether this is a database at all
  } catch (...) {
    sqlite3_close(handle_);
    throw;
  }
}

Database::~Database() { sqlite3_close(handle_); }

void Database::complain(int code) const {
  const int primary = code & 0xff;
  const bool damaged = primary == SQLITE_NOTADB || primary == SQLITE_CORRUPT;
  const std::string advice =
      damaged ? "; the records beside it are the originals: move the store away and it is made again" : "";
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

}  // namespace trainyard::store
