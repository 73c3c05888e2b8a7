#include "study/import/import.h"

#include <fstream>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/test_folder.h"
#include "study/run/progress.h"

namespace trainyard::study {

namespace {

using record::RunRecord;

constexpr const char* kTable =
    "device,input_type,layers,nodes,batch_size,input_size,output_size,#params,duration,tflops\n"
    "Tesla T4, f32, 4, 32, 64, 2000, 200, 73472, 0.25, 0.01\n"
    "Tesla T4, f32, 4, 32, 64, 2000, 200, 73472, 0.5, 0.005\r\n"
    "Tesla T4, f16, 128, 8192, 64, 2000, 200, 73472, 0, 0\n\n";

std::string message_of_row(const std::string& row) {
  try {
    import_remake("t.csv", kTable + row);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    return error.what();
  }
  return "";
}

TEST(ImportRemake, ReadsRowsReplicatesAndMemoryThatRanOut) {
  ASSERT_TRUE(is_remake(kTable));
  const std::vector<RunRecord> runs = import_remake("t.csv", kTable);
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(record::to_text(runs[0].asked),
            "batch 64, classes 200, device Tesla T4, inputs 2000, layers 4, network fc, optimizer adam, "
            "precision f32, width 32");
  EXPECT_DOUBLE_EQ(*runs[0].images_per_second, 64 / 0.0025);
  // Four hidden matrices, one more than the published formula counts; the input has no gradient.
  EXPECT_EQ(runs[0].figures.at("parameters"), 4 * 32 * 32 + 32 * 2200 + 5 * 32 + 200);
  EXPECT_EQ(runs[0].figures.at("flops_per_step"), 6 * 64 * (4 * 32 * 32 + 32 * 2200) - 2 * 64 * 32 * 2000);
  EXPECT_EQ(runs[0].figures.at("published_flops_per_second"), 1e10);
  EXPECT_NE(runs[0].id, runs[1].id);
  EXPECT_EQ(runs[0].asked, runs[1].asked);
  EXPECT_EQ(runs[2].status, record::Status::oom);
  EXPECT_FALSE(runs[2].figures.contains("bytes_per_step"));
}

TEST(ImportRemake, NamesTheLineThatIsDamaged) {
  EXPECT_EQ(message_of_row("Tesla T4, f32, 4\n"), "'t.csv' line 6: 3 fields, 10 are needed");
  EXPECT_EQ(message_of_row("Tesla T4, f32, 4, 32, 64, 2000, 200, 7, 0.2, 0.1, 5\n"),
            "'t.csv' line 6: 11 fields, 10 are needed");
  EXPECT_EQ(message_of_row("Tesla T4, f32, four, 32, 64, 2000, 200, 7, 0.2, 0.1\n"),
            "'t.csv' line 6: layers is 'four', not a number from 1");
  EXPECT_EQ(message_of_row("Tesla T4, f32, 4, 32, 64, 2000, 200, 7, nan, 0.1\n"),
            "'t.csv' line 6: duration is 'nan', not a number from 0");
  EXPECT_EQ(message_of_row("Tesla T4, f32, 4, 0, 64, 2000, 200, 7, 1, 0.1\n"),
            "'t.csv' line 6: nodes is '0', not a number from 1");
  EXPECT_THROW(import_remake("t.csv", "device,input_type,layers\n"), Error);
}

namespace fs = std::filesystem;

std::string table(int rows) {
  std::string text =
      "device,input_type,layers,nodes,batch_size,input_size,output_size,#params,duration,tflops\n";
  for (int row = 1; row <= rows; ++row)
    text += "Tesla T4, f32, 4, 32, " + std::to_string(row) + ", 2000, 200, 7, 0.25, 0.01\n";
  return text;
}

class ImportStudy : public testing::Test {
 protected:
  int import(int rows) const { return import_study(folder(), "t4", import_remake("t.csv", table(rows))); }
  Folder folder() const { return {folder_.path() / "study"}; }

  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(folder().records())) found.push_back(entry.path());
    return found;
  }

  TestFolder folder_;
};

TEST_F(ImportStudy, KeepsAllRunsInOneFileAndTakesEachOnce) {
  EXPECT_EQ(import(5), 5);
  ASSERT_EQ(files().size(), 1u);
  EXPECT_EQ(files()[0].filename(), "remake-tesla-t4-f32-l4-n32-i2000-o200-b5.jsonl");
  EXPECT_EQ(import(5), 0);
  EXPECT_EQ(import(7), 2);
  EXPECT_EQ(files().size(), 2u);
  EXPECT_EQ(runs_of(folder()).size(), 7u);
  const StudyProgress progress = progress_of(folder());
  EXPECT_EQ(progress.expected(), 7);
  EXPECT_EQ(progress.done(), 7);
}

TEST_F(ImportStudy, TheStoreIsMadeAgainFromThatFile) {
  import(5);
  fs::remove(folder().store());
  store::Store store(folder().store(), store::Store::Access::write);
  EXPECT_EQ(runs_of(folder()).size(), 5u);
  std::vector<std::string> complaints;
  EXPECT_EQ(ingest(folder(), store, complaints), 5);
  EXPECT_EQ(complaints.size(), 0u);
  EXPECT_EQ(ingest(folder(), store, complaints), 0);
  EXPECT_EQ(runs_of(folder()).size(), 5u);
}

TEST_F(ImportStudy, ADamagedLineIsNamed) {
  import(5);
  fs::remove(folder().store());
  std::ofstream(files()[0], std::ios::app) << "{\"id\":";
  store::Store store(folder().store(), store::Store::Access::write);
  std::vector<std::string> complaints;
  EXPECT_EQ(ingest(folder(), store, complaints), 0);
  ASSERT_EQ(complaints.size(), 1u);
  EXPECT_NE(complaints[0].find(".jsonl' line 6: "), std::string::npos) << complaints[0];
}

TEST_F(ImportStudy, AnotherFileOfTheSamePointIsAReplicate) {
  import(2);
  std::vector<record::RunRecord> again = import_remake("u.csv", table(2));
  for (record::RunRecord& run : again) run.id += "-again";
  EXPECT_EQ(import_study(folder(), "t4", again), 2);
  const StudyProgress progress = progress_of(folder());
  EXPECT_EQ(progress.expected(), 4);
  EXPECT_EQ(progress.done(), 4);
  EXPECT_EQ(runs_of(folder())[3].replicate, 2);
  EXPECT_EQ(runs_of(folder())[3].cell, runs_of(folder())[1].cell);
}

TEST_F(ImportStudy, AStudyOfOwnRunsTakesNone) {
  fs::create_directories(folder().records());
  {
    record::RunRecord own = import_remake("t.csv", table(1)).front();
    own.command = "bench";
    own.id = "own";
    store::Store store(folder().store(), store::Store::Access::write);
    store.add({own});
  }
  expect_error(ErrorKind::usage, "holds a study of its own runs", [&] { import(2); });
  EXPECT_EQ(runs_of(folder()).size(), 1u);
  fs::remove_all(folder().path);
  fs::create_directories(folder().path);
  std::ofstream(folder().spec()) << "study: x\n";
  expect_error(ErrorKind::usage, "holds a study of its own runs", [&] { refuse_to_import(folder()); });
  EXPECT_FALSE(fs::exists(folder().records()));
}

TEST_F(ImportStudy, FormatsAreToldByContent) {
  const fs::path from = folder_.path() / "from";
  fs::create_directories(from);
  const auto write = [&](const char* name, const std::string& text) { std::ofstream(from / name) << text; };
  write("sweep.txt", table(3));
  write("note.md", "nothing");
  write("other.json", "{\"a\": 1}");
  write("ops", R"({"labels": ["layer_8-node_4-input_2-output_1-bs_4-infeed"], "time_perc": [0.5],
                  "flops_perc": [0.0], "memory_bandwidth": [0], "rawMB": [0.0], "intensity": [NaN]})");
  EXPECT_EQ(import_published({from}).size(), 4u);
  EXPECT_EQ(import_published({from / "sweep.txt", from}).size(), 4u);
  const auto message = [&](const char* name) -> std::string {
    try {
      import_published({from / name});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message("note.md").find("is neither a job output of PSC"), std::string::npos)
      << message("note.md");
  EXPECT_NE(message("other.json").find("neither a sweep"), std::string::npos) << message("other.json");
  EXPECT_NE(message("absent").find("absent"), std::string::npos) << message("absent");
}

}  // namespace

}  // namespace trainyard::study
