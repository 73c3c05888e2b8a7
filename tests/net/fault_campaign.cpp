// Runs to which faults happen, one for each seed:
//   fault_campaign [--first-seed N] [--runs N] [--injections N]   until there were so many
//   fault_campaign --seed N [--plan TEXT]                         one again, with all that it said
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include <fmt/core.h>

#include "base/clock.h"
#include "base/error.h"
#include "net/fault_run.h"

namespace trainyard::net_test {
namespace {

class Campaign {
 public:
  explicit Campaign(std::filesystem::path program) : program_(std::move(program)) {}

  void carry_out_one(const FaultRun& run, const FaultPlan& plan, bool with_story) {
    std::string name = (std::filesystem::temp_directory_path() / "trainyard-faults-XXXXXX").string();
    const std::filesystem::path folder = ::mkdtemp(name.data());
    const FaultRunResult result = carry_out(run, plan, program_.parent_path() / "ps_node", folder);
    ++runs_;
    seconds_ += result.seconds;
    longest_seconds_ = std::max(longest_seconds_, result.seconds);
    for (const Injection& injection : result.injected) ++injections_[std::string(name_of(injection.kind))];
    fmt::print("seed {:5}: {:5.2f} s, {} faults, {}: {}\n", run.seed, result.seconds, result.injected.size(),
               run.to_string(), result.problems.empty() ? "ok" : result.problems.front());
    if (with_story || !result.problems.empty()) fmt::print("{}\n{}", plan.to_string(), result.story);
    if (result.problems.empty()) {
      std::filesystem::remove_all(folder);
    } else {
      ++failures_;
      fmt::print("files: {}\nagain: {} --seed {} --plan '{}'\n", folder.string(), program_.string(), run.seed,
                 plan.to_string());
    }
    std::fflush(stdout);
  }

  int runs() const { return runs_; }
  int failures() const { return failures_; }
  int injections() const {
    int all = 0;
    for (const auto& [name, count] : injections_) all += count;
    return all;
  }

  void print_summary() const {
    fmt::print("\n{:<16}{:>10}\n", "fault", "times");
    for (const auto& [name, count] : injections_) fmt::print("{:<16}{:>10}\n", name, count);
    fmt::print("{:<16}{:>10}\n\n", "all", injections());
    fmt::print("{} runs, {} failed, {:.0f} s, the longest {:.1f} s\n", runs_, failures_, seconds_,
               longest_seconds_);
  }

 private:
  std::filesystem::path program_;
  std::map<std::string, int> injections_;
  int runs_ = 0, failures_ = 0;
  double seconds_ = 0, longest_seconds_ = 0;
};

int run(const std::vector<std::string>& arguments) {
  const auto option = [&](const std::string& name, int otherwise) {
    const auto found = std::find(arguments.begin(), arguments.end(), name);
    if (found == arguments.end()) return otherwise;
    if (found + 1 == arguments.end()) fail(ErrorKind::usage, "{} wants a number", name);
    return std::stoi(*(found + 1));
  };
  Campaign campaign(std::filesystem::read_symlink("/proc/self/exe"));
  const int only = option("--seed", -1);
  if (only >= 0) {
    const FaultRun one = draw_run(static_cast<std::uint64_t>(only));
    campaign.carry_out_one(one, plan_from(arguments, one.seed, one.shape), true);
    return campaign.failures() > 0 ? 1 : 0;
  }
  const int most_runs = option("--runs", 1'000'000), injections = option("--injections", 1'000'000);
  for (int seed = option("--first-seed", 1);
       campaign.runs() < most_runs && campaign.injections() < injections; ++seed) {
    const FaultRun one = draw_run(static_cast<std::uint64_t>(seed));
    campaign.carry_out_one(one, draw_plan(one.seed, one.shape), false);
  }
  campaign.print_summary();
  return campaign.failures() > 0 ? 1 : 0;
}

}  // namespace
}  // namespace trainyard::net_test

int main(int count, char** arguments) {
  try {
    return trainyard::net_test::run({arguments + 1, arguments + count});
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
