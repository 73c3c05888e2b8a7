#include "store/database.h"

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/test_folder.h"
#include "record/build.h"
#include "store/store.h"

namespace trainyard::store {
namespace {

// A store as the first version of the schema wrote it.
constexpr const char* kFirstVersion = R"(
  CREATE TABLE study (name TEXT NOT NULL);
  CREATE TABLE planned (position INTEGER PRIMARY KEY, cell TEXT NOT NULL, replicate INTEGER NOT NULL,
                        settings TEXT NOT NULL, UNIQUE (cell, replicate));
  CREATE TABLE run (sequence INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, cell TEXT NOT NULL,
                    replicate INTEGER NOT NULL, attempt INTEGER NOT NULL, status TEXT NOT NULL,
                    reason TEXT NOT NULL, record TEXT NOT NULL);
  INSERT INTO study VALUES ('old');
  INSERT INTO run VALUES (1, 'aaaa-r1-a1', 'aaaa', 1, 1, 'ok', '',
    '{"schema":1,"id":"aaaa-r1-a1","status":"ok","node":"gpu006","images_per_second":2643.5,
      "command":"bench","steps":3,"step_seconds":{"median":0.0189,"mean":0.0378},
      "provenance":{"build":{"commit":"5a84b2f3e1c0aa11","uncommitted_changes":true}}}');
  PRAGMA user_version = 1;)";

class SchemaTest : public testing::Test {
 protected:
  std::filesystem::path file() const { return folder_.path() / "store.sqlite"; }
  void write(const char* sql) const { Database(file(), Database::Mode::write).execute(sql); }

 private:
  TestFolder folder_;
};

TEST_F(SchemaTest, AnOldStoreIsReadAsItIsAndMigratedByAWriter) {
  write(kFirstVersion);
  EXPECT_EQ(Store(file(), Store::Access::read).runs().at(0).node, "gpu006");
  Database before(file(), Database::Mode::read);
  EXPECT_EQ(before.version(), 1);
  const Store store(file(), Store::Access::write);
  EXPECT_EQ(store.runs().at(0).id, "aaaa-r1-a1");
  EXPECT_EQ(store.study(), "old");
  Database after(file(), Database::Mode::read);
  EXPECT_EQ(after.version(), newest_schema());
  Statement columns(after,
                    "SELECT node, median_images_per_second > 2643 AND median_step_seconds < 0.02 "
                    "AND abs(images_per_second - 1321.75) < 0.01, build FROM run");
  ASSERT_TRUE(columns.next());
  EXPECT_EQ(columns.text(0), "gpu006");
  EXPECT_EQ(columns.integer(1), 1);
  EXPECT_EQ(columns.text(2), "5a84b2f3e1c0+changed");
  EXPECT_EQ(record::build_of(store.runs().at(0)), columns.text(2));
  // The record says the same to whoever reads it.
  EXPECT_NEAR(*store.runs().at(0).images_per_second, 1321.75, 0.01);
  EXPECT_NEAR(store.runs().at(0).figures.at("median_images_per_second"), 2643.5, 0.01);
}

TEST_F(SchemaTest, ANewerStoreIsRefused) {
  write("CREATE TABLE run (id TEXT); PRAGMA user_version = 99;");
  EXPECT_THROW(Store(file(), Store::Access::read), Error);
  EXPECT_THROW(Store(file(), Store::Access::write), Error);
}

TEST_F(SchemaTest, AnotherProgramsDatabaseIsRefused) {
  write("CREATE TABLE song (title TEXT);");
  EXPECT_THROW(Store(file(), Store::Access::read), Error);
}

TEST_F(SchemaTest, AReaderTakesBackWhatAKilledWriterLeft) {
  record::RunRecord run;
  run.id = "aaaa-r1-a1";
  Store(file(), Store::Access::write).add(run);
  const pid_t writer = ::fork();
  if (writer == 0) {
    [&]() noexcept {
      Database database(file(), Database::Mode::write);
      // With so little cache, pages of the unfinished transaction are in the file already.
      database.execute(
          "PRAGMA cache_size = 1; BEGIN IMMEDIATE;"
          "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) "
          "INSERT INTO planned (position, cell, replicate, settings) SELECT i, 'cell', i, zeroblob(1000) "
          "FROM n");
      ::_exit(0);
    }();
  }
  int status = 0;
  ASSERT_EQ(::waitpid(writer, &status, 0), writer);
  ASSERT_TRUE(std::filesystem::exists(file().string() + "-journal"));
  const Store store(file(), Store::Access::read);
  EXPECT_EQ(store.runs().size(), 1u);
  EXPECT_EQ(store.planned().size(), 0u);
  EXPECT_EQ(store.integrity(), "");
}

TEST_F(SchemaTest, RunsCannotBeChangedOrRemoved) {
  record::RunRecord run;
  run.id = "aaaa-r1-a1";
  Store(file(), Store::Access::write).add(run);
  EXPECT_THROW(write("DELETE FROM run"), Error);
  EXPECT_THROW(write("UPDATE run SET record = '{}'"), Error);
}

}  // namespace
}  // namespace trainyard::store
