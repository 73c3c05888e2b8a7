#pragma once

#include <csignal>

#include "base/json.h"
#include "cli/cli_fixture.h"
#include "data/source/dataset.h"

namespace trainyard::jobs_test {

// Runs of several processes, by the command that a user types, on a small set of digits.
class JobTest : public cli_test::CliTest {
 protected:
  JobTest();

  const data::Dataset& dataset() const { return dataset_; }

  // "train" with what all of them have in common.
  std::string train(const std::string& arguments) const;
  // Runs it to its end, which must be a good one; its record.
  Json record_of(const std::string& arguments) const;
  cli_test::Command start(const std::string& arguments) const { return {words(arguments), options()}; }
  std::vector<std::string> words(const std::string& arguments) const {
    return cli_test::trainyard(train(arguments));
  }

  // All tensors of the last checkpoint in a folder, one behind the other.
  std::vector<float> tensors(const std::string& folder) const;
  Json manifest(const std::string& folder) const;
  // Returns how many updates the last checkpoint has; 0 while there is none.
  std::int64_t saved_step(const std::string& folder) const;
  // As saved_step() counts, before the command ends.
  void wait_for_step(const std::string& folder, std::int64_t step, cli_test::Command& command) const;

  // The process that "worker-0" or "server-1" is now, as its log says; 0: there is no such yet.
  pid_t process(const std::string& folder, const std::string& member) const;
  std::string log(const std::string& folder, const std::string& member) const;
  // All that ever were part of the run.
  std::vector<pid_t> processes(const std::string& folder) const;
  // None of these is there any more, soon: long before a job would give one up that it waits for.
  static bool gone(const std::vector<pid_t>& processes);

 private:
  data::Dataset dataset_;
};

// Sums the gradients of all workers.
std::int64_t gradients(const Json& record);

float largest_difference(const std::vector<float>& a, const std::vector<float>& b);

// Returns the file that a server maps so that its state survives when it is killed.
std::filesystem::path state_file(pid_t server);

bool wait_until(double seconds, const std::function<bool()>& condition);

}  // namespace trainyard::jobs_test
