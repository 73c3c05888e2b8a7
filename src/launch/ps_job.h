#pragma once

#include "base/progress.h"
#include "comm/transport/handshake.h"
#include "data/get/scratch_folder.h"
#include "launch/hosts.h"
#include "process/child.h"
#include "run/deployment_options.h"
#include "train/loop/ps_training.h"

namespace trainyard::launch {

// Runs the servers and workers of a job as processes of this program, here or on other machines. All are
// started with the words that this one was started with, and what else they must know.
class PsJob final : public train::PsProcesses {
 public:
  // `hosts`: where; one without a name is this machine. `logs`: folder for a file of each. `notes`
  // hears of processes that are started again; it may be null.
  PsJob(const run::PsOptions& options, std::vector<Host> hosts, std::vector<std::string> words,
        const comm::transport::JobKey& key, const std::filesystem::path& logs, ProgressListener* notes);
  ~PsJob() override;

  comm::transport::Address coordinator_address() const;  // where a coordinator shall listen

  void start(const train::PsMeeting& meeting) override;
  std::optional<Error> look() override;
  void end() override;

  int restarted() const { return restarted_; }
  const std::string& transport() const { return transport_; }
  // Returns the node that the worker itself reports.
  std::string node_of_worker(int number) const;
  // Returns the cores of all workers: those of other machines as they were asked for, numbered apart from
  // this one's. `threads` is the number asked for on a machine; `each` is a worker's part of them.
  std::vector<int> cores_in_reach(int threads, int each) const;

 private:
  struct Member {
    bool server = false;
    int number = 0;
    const Host* host = nullptr;
    int share = 0, sharers = 1;  // among the workers of its machine
    std::string listen;
    std::unique_ptr<process::BackgroundChild> process;
    int starts = 0;
    bool given_up = false;
  };
  void start(Member& member);
  std::vector<std::string> command_of(const Member& member) const;
  std::filesystem::path log_of(const Member& member) const;
  std::string last_words_of(const Member& member) const;
  std::string why_it_ended(const Member& member, int code, const std::string& words) const;

  run::PsOptions options_;
  std::vector<Host> hosts_;
  std::vector<std::string> words_;
  std::string key_;
  std::filesystem::path logs_;
  ProgressListener* notes_;
  // Its name is short: sockets lie in it, whose paths may have about a hundred letters.
  data::ScratchFolder folder_;
  bool one_machine_;
  std::string transport_;
  train::PsMeeting meeting_;
  std::vector<Member> members_;
  int restarted_ = 0;
};

}  // namespace trainyard::launch
