#pragma once

#include "base/standard.h"

struct sqlite3;
struct sqlite3_stmt;

namespace trainyard::store {

// Database is an open SQLite file. Errors are of kind config when the file is no sound database, else io, and
// name it.
class Database {
 public:
  enum class Mode { read, write };  // write: made when it is missing

  Database(const std::filesystem::path& file, Mode mode);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void execute(const char* sql);
  int version();  // the schema's, kept in the file's header; 0: a new file
  void set_version(int version);
  const std::filesystem::path& file() const { return file_; }

 private:
  friend class Statement;
  int open(int flags);  // SQLite's code
  [[noreturn]] void complain(int code) const;

  std::filesystem::path file_;
  sqlite3* handle_ = nullptr;
};

// Statement is one prepared statement, with values numbered from 1 and columns from 0.
class Statement {
 public:
  Statement(Database& database, const char* sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(int index, std::string_view text);
  Statement& bind(int index, std::int64_t number);
  Statement& bind(int index, double number);
  bool next();   // false: no row is left
  void reset();  // from the start, with every value NULL

  std::string text(int column) const;
  std::int64_t integer(int column) const;

 private:
  Database& database_;
  sqlite3_stmt* handle_ = nullptr;
};

// A transaction commits all changes or none. It takes the write lock at once, so that two writers wait for
// each other instead of failing.
class Transaction {
 public:
  explicit Transaction(Database& database);
  ~Transaction();  // rolls back what was not committed
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  void commit();

 private:
  Database& database_;
  bool open_ = true;
};

// Returns the version of the schema that this program writes.
int newest_schema();

// Migrates a file of any older version, or an empty one, to the newest. Throws Error (config) when it is
// newer.
void migrate(Database& database);

// Throws Error (config) when the file is newer, or is a database of another program.
void check_readable(Database& database);

}  // namespace trainyard::store
