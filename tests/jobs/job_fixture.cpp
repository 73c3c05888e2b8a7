#include "jobs/job_fixture.h"
#include "base/json.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <regex>
#include <sstream>
#include <thread>

#include <fmt/core.h>

#include "base/clock.h"
#include "base/file.h"
#include "engine/checkpoint.h"

namespace trainyard::jobs_test {

namespace fs = std::filesystem;

JobTest::JobTest() {
  dataset_ = data::make_synthetic(
      {.image_shape = {1, 28, 28}, .classes = 10, .train_images = 400, .test_images = 40, .seed = 7});
  dataset_.name = "mnist";
  fs::create_directories(work() / "digits");
  data::store_dataset_files(dataset_, "", work() / "digits");
}

std::string JobTest::train(const std::string& arguments) const {
  const bool own_data = arguments.find("--data") != std::string::npos;
  return "train --quiet --json " + (own_data ? "" : std::string("--data mnist --from digits ")) + arguments;
}

Json JobTest::record_of(const std::string& arguments) const {
  const cli_test::CommandResult result = run(train(arguments));
  EXPECT_EQ(result.exit_code, 0) << arguments << ": " << result.err;
  return result.exit_code == 0 ? parse_json(result.out) : Json::object();
}

std::vector<float> JobTest::tensors(const std::string& folder) const {
  const auto latest = engine::latest_checkpoint(work() / folder);
  if (!latest) return {};
  const std::vector<std::byte> bytes = read_file(*latest / "tensors.bin");
  std::vector<float> numbers(bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(float));
  return numbers;
}

Json JobTest::manifest(const std::string& folder) const {
  const auto latest = engine::latest_checkpoint(work() / folder);
  return latest ? read_json(*latest / "manifest.json") : Json::object();
}

std::int64_t JobTest::saved_step(const std::string& folder) const {
  const auto latest = engine::latest_checkpoint(work() / folder);
  return latest ? std::stoll(latest->filename().string().substr(std::strlen("step-"))) : 0;
}

void JobTest::wait_for_step(const std::string& folder, std::int64_t step, cli_test::Command& command) const {
  const auto reached = [&] { return saved_step(folder) >= step || !command.running(); };
  EXPECT_TRUE(wait_until(240, reached) && command.running()) << "ended before step " << step;
}

std::string JobTest::log(const std::string& folder, const std::string& member) const {
  std::ostringstream text;
  text << std::ifstream(work() / folder / "logs" / (member + ".log")).rdbuf();
  return text.str();
}

pid_t JobTest::process(const std::string& folder, const std::string& member) const {
  const std::string text = log(folder, member), mark = ", process ";
  const std::size_t at = text.rfind(mark);
  return at == std::string::npos ? 0 : std::stoi(text.substr(at + mark.size()));
}

std::vector<pid_t> JobTest::processes(const std::string& folder) const {
  std::vector<pid_t> found;
  const std::regex mark(", process ([0-9]+)");
  for (const auto& entry : fs::directory_iterator(work() / folder / "logs")) {
    const std::string text = log(folder, entry.path().stem());
    for (std::sregex_iterator match(text.begin(), text.end(), mark), end; match != end; ++match)
      found.push_back(std::stoi((*match)[1]));
  }
  return found;
}

bool JobTest::gone(const std::vector<pid_t>& processes) {
  // Whoever nobody has waited for yet is gone as well.
  const auto runs = [](pid_t pid) {
    std::ifstream file(fmt::format("/proc/{}/stat", pid));
    std::string line;
    return std::getline(file, line) && line.substr(line.rfind(')')).substr(0, 3) != ") Z";
  };
  return wait_until(20, [&] { return std::none_of(processes.begin(), processes.end(), runs); });
}

std::int64_t gradients(const Json& record) {
  std::int64_t sum = 0;
  for (const auto& [worker, count] : record["exchange"]["gradients_by_worker"].items())
    sum += count.get<std::int64_t>();
  return sum;
}

float largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size() || a.empty()) return INFINITY;
  float largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

std::filesystem::path state_file(pid_t server) {
  std::ifstream maps(fmt::format("/proc/{}/maps", server));
  for (std::string line; std::getline(maps, line);)
    if (const std::size_t at = line.find('/'); at != std::string::npos)
      if (const std::string path = line.substr(at);
          std::filesystem::path(path).filename().string().starts_with("trainyard-"))
        return path;
  return {};
}

bool wait_until(double seconds, const std::function<bool()>& condition) {
  const double deadline = now_seconds() + seconds;
  while (!condition()) {
    if (now_seconds() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

}  // namespace trainyard::jobs_test
