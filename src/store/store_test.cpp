#include "store/store.h"

#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/test_folder.h"

namespace trainyard::store {
namespace {

record::RunRecord run_of(const std::string& id) {
  record::RunRecord run;
  run.id = id;
  run.cell = id.substr(0, 4);
  run.status = record::Status::crash;
  run.reason = "signal 11";
  run.step_seconds = {0.1, 0.2};
  run.images_per_second = 123.5;
  run.asked["batch"] = std::int64_t{50};
  return run;
}

class StoreTest : public testing::Test {
 protected:
  std::filesystem::path file() const { return folder_.path() / Store::file_name(); }
  Store open(Store::Access access = Store::Access::write) const { return Store(file(), access); }
  void expect_refused(const std::string& part) const {
    for (const Store::Access access : {Store::Access::read, Store::Access::write}) {
      try {
        open(access).runs();
        FAIL() << "was opened";
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::config);
        EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
      }
    }
  }

 private:
  TestFolder folder_;
};

TEST_F(StoreTest, KeepsRunsInTheirOrderAndEachOnce) {
  {
    Store store = open();
    EXPECT_TRUE(store.add(run_of("bbbb-r1-a1")));
    EXPECT_TRUE(store.add(run_of("aaaa-r1-a1")));
    record::RunRecord other = run_of("bbbb-r1-a1");
    other.status = record::Status::ok;
    EXPECT_FALSE(store.add(other));
  }
  const Store store = open(Store::Access::read);
  const auto runs = store.runs();
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(to_json(runs[0]), to_json(run_of("bbbb-r1-a1")));
  EXPECT_EQ(runs[1].id, "aaaa-r1-a1");
  EXPECT_TRUE(store.contains("aaaa-r1-a1"));
  EXPECT_FALSE(store.contains("aaaa-r1-a2"));
  EXPECT_EQ(store.integrity(), "");
}

TEST_F(StoreTest, TheNewestPlanCounts) {
  Store store = open();
  store.plan("one", {{0, "aaaa", 1, {{"batch", std::int64_t{50}}}}, {1, "bbbb", 1, {{"lr", 0.5}}}});
  store.plan("one", {{0, "bbbb", 1, {{"lr", 0.5}}}, {1, "bbbb", 2, {{"lr", 0.5}}}});
  const auto planned = store.planned();
  ASSERT_EQ(planned.size(), 2u);
  EXPECT_EQ(planned[1].cell, "bbbb");
  EXPECT_EQ(planned[1].replicate, 2);
  EXPECT_EQ(planned[1].settings, (record::Settings{{"lr", 0.5}}));
  EXPECT_EQ(store.study(), "one");
  EXPECT_THROW(store.plan("two", {}), Error);
  EXPECT_EQ(store.planned().size(), 2u);
}

TEST_F(StoreTest, ManyWritersAtOnce) {
  constexpr int kWriters = 6, kRuns = 15;
  open();
  for (int writer = 0; writer < kWriters; ++writer) {
    if (::fork() != 0) continue;
    int code = 1;
    try {
      Store store = open();
      for (int run = 0; run < kRuns; ++run) {
        store.add(run_of("mine-r" + std::to_string(writer) + "-a" + std::to_string(run)));
        store.add(run_of("ours-r1-a" + std::to_string(run)));
      }
      code = 0;
    } catch (const std::exception&) {
    }
    ::_exit(code);
  }
  for (int writer = 0; writer < kWriters; ++writer) {
    int status = 0;
    ::wait(&status);
    EXPECT_EQ(status, 0);
  }
  const Store store = open(Store::Access::read);
  EXPECT_EQ(store.runs().size(), std::size_t{kWriters * kRuns + kRuns});
  EXPECT_EQ(store.integrity(), "");
}

TEST_F(StoreTest, RefusesWhatIsMissingOrDamaged) {
  EXPECT_THROW(open(Store::Access::read), Error);
  std::ofstream(file()) << std::string(5000, 'x') + "\n";
  expect_refused("store '");
  std::ofstream(file(), std::ios::trunc) << "";
  open().add(run_of("aaaa-r1-a1"));
  open().add(run_of("aaaa-r1-a2"));
  const std::filesystem::path cut = file();
  std::filesystem::resize_file(cut, std::filesystem::file_size(cut) * 3 / 4);
  std::fstream(cut, std::ios::in | std::ios::out).seekp(100).write(std::string(400, '\x5a').data(), 400);
  expect_refused("store '");
}

}  // namespace
}  // namespace trainyard::store
