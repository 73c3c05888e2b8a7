#include "store/schema.h"

#include <iterator>

#include "base/error.h"

namespace trainyard::store {
namespace {

// Entry i leads from version i to i + 1. Entries are only ever added: files of every version are about.
constexpr const char* kMigrations[] = {
    // 1: a run is its record; the columns beside it are what most questions ask for.
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
    // 2: speed and place as columns, for people who ask in SQL.
    R"(ALTER TABLE run ADD COLUMN images_per_second REAL;
       ALTER TABLE run ADD COLUMN median_step_seconds REAL;
       ALTER TABLE run ADD COLUMN node TEXT;
       UPDATE run SET images_per_second = json_extract(record, '$.images_per_second'),
                      median_step_seconds = json_extract(record, '$.step_seconds.median'),
                      node = json_extract(record, '$.node');
       CREATE INDEX run_by_cell ON run (cell, replicate);)",
    // 3: images_per_second counts stalls; what it was before stands beside it (run records, schema 2).
    R"(ALTER TABLE run ADD COLUMN median_images_per_second REAL;
       UPDATE run SET median_images_per_second = images_per_second,
                      images_per_second = images_per_second * median_step_seconds
                                          / json_extract(record, '$.step_seconds.mean')
         WHERE json_extract(record, '$.command') IN ('bench', 'train')
           AND json_extract(record, '$.step_seconds.mean') > 0 AND median_step_seconds > 0;)",
    // 4: the build that was measured; of records that do not name it the commit, as record/build.cpp reads
    // them.
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
    fail(ErrorKind::config, "store '{}' has schema {}, this trainyard reads up to {}: it is too old",
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
