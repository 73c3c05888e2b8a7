#include "study/spec/file_networks.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/test_folder.h"
#include "networks/zoo/network_files.h"
#include "study/spec/job.h"
#include "study/spec/plan.h"

namespace trainyard::study {
namespace {

namespace fs = std::filesystem;

class FileNetworksTest : public testing::Test {
 protected:
  FileNetworksTest() {
    networks::read_network_files(".onnx",
                                 [](const fs::path&) -> std::shared_ptr<const networks::NetworkFile> {
                                   return nullptr;  // nobody reads them here
                                 });
    fs::create_directories(folder_.path() / "nets");
    write("nets/mine.onnx", "one");
  }

  fs::path path(const char* name) const { return folder_.path() / name; }
  void write(const char* name, const char* content) const { std::ofstream(path(name)) << content; }

  // A study beside the folder of networks.
  Spec spec(const std::string& networks = "[lenet, nets/mine.onnx]") const {
    Spec spec = parse_spec("study: s\naxes:\n  network: " + networks + "\n", path("study.yaml").string());
    spec.networks = find_file_networks(spec);
    return spec;
  }
  static std::vector<std::string> hashes(const Spec& spec) {
    std::vector<std::string> hashes;
    for (const Cell& cell : make_plan(spec, [](const record::Settings&) { return ""; }).cells)
      hashes.push_back(cell.hash);
    return hashes;
  }

 private:
  TestFolder folder_;
};

TEST_F(FileNetworksTest, AreFoundBesideTheStudyOrHere) {
  EXPECT_EQ(network_beside("lenet", path("study.yaml")), "lenet");
  EXPECT_EQ(network_beside("nets/mine.onnx", path("study.yaml")), path("nets/mine.onnx"));
  EXPECT_EQ(network_beside("../nets/mine.onnx", path("nets/study.yaml")), path("nets/mine.onnx"));
  EXPECT_EQ(network_beside("x.onnx", path("study.yaml")), fs::absolute("x.onnx"));
  EXPECT_EQ(network_beside("/tmp/x.onnx", path("study.yaml")), "/tmp/x.onnx");
}

TEST_F(FileNetworksTest, ContentIsPartOfWhatACellIs) {
  const std::vector<std::string> first = hashes(spec());
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(hashes(spec()), first);
  write("nets/mine.onnx", "two");
  const std::vector<std::string> second = hashes(spec());
  EXPECT_EQ(second[0], first[0]);
  EXPECT_NE(second[1], first[1]);
}

TEST_F(FileNetworksTest, TheFolderOfAStudyNamesItsCellsWithoutTheFiles) {
  Spec kept = spec();
  const std::vector<std::string> planned = hashes(kept);
  const auto networks = file_networks_from_json(to_json(kept.networks));
  EXPECT_EQ(networks, kept.networks);
  fs::remove(path("nets/mine.onnx"));
  kept = spec();
  EXPECT_EQ(kept.networks.at("nets/mine.onnx").sha256, "");
  kept.networks = networks;
  EXPECT_EQ(hashes(kept), planned);
  EXPECT_THROW(file_networks_from_json("{\"a\": 1}"), Error);
}

TEST_F(FileNetworksTest, ProcessesGetThePath) {
  const Spec one = spec("[nets/mine.onnx]");
  const auto asked = with_network_path(one, {{"network", std::string("nets/mine.onnx")}});
  EXPECT_EQ(record::to_text(asked.at("network")), path("nets/mine.onnx"));
  EXPECT_EQ(with_network_path(one, {{"batch", std::int64_t{2}}}).size(), 1u);
  const Plan plan = make_plan(one, [](const record::Settings&) { return ""; });
  const Job job = make_job(one, plan.runs.at(0), 1, "trainyard");
  const std::string option = "--network=" + path("nets/mine.onnx").string();
  EXPECT_NE(std::find(job.command.begin(), job.command.end(), option), job.command.end());
  EXPECT_EQ(record::to_text(job.settings.at("network")), "nets/mine.onnx");
  record::RunRecord run;
  run.words["network"] = path("nets/mine.onnx").string();
  identify(run, job);
  EXPECT_EQ(run.words["network"], "nets/mine.onnx") << "tables show the name of the study";
}

}  // namespace
}  // namespace trainyard::study
