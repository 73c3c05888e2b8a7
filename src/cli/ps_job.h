#pragma once

#include <memory>

#include "cli/deployment_options.h"
#include "cli/hosts.h"
#include "cli/mpirun.h"
#include "comm/transport/handshake.h"
#include "data/get/scratch_folder.h"
#include "train/loop/ps_training.h"

namespace trainyard::cli {

// Throws Error (usage) when `part` lacks an option that `command` needs.
void check(const PsPart& part, const char* command);

// Reads the job's key from the file that `part` names, or from standard input.
comm::transport::JobKey read_key(const PsPart& part);

// Returns the cores of worker `share` of `workers` on this machine. `threads` counts the threads of all
// workers; 0 means as many as can be shared equally. With more workers than cores, several workers share a
// core.
std::vector<int> cores_of_share(int threads, int share, int workers);
// The same for a share written as "1/2". Error (usage) when it is not.
std::vector<int> cores_of_share(int threads, const std::string& share);

// Begins a part's log with "worker 1 on NODE, process PID".
void log_beginning(const char* what, int number);
// Returns the node that such a line names, or "" for any other line.
std::string node_in(const std::string& line, const char* what, int number);

// Writes one line of a part's log, with the time, to standard error.
void log_line(const std::string& line);

// The servers and workers of a job as processes of this program, here or on other machines. All are started
// with the words that this one was started with, and what else they must know.
class PsJob final : public train::PsProcesses {
 public:
  // `hosts`: where; one without a name is this machine. `logs`: folder for a file of each.
  PsJob(const PsOptions& options, std::vector<Host> hosts, std::vector<std::string> words,
        const comm::transport::JobKey& key, const std::filesystem::path& logs);
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
    std::unique_ptr<JobProcess> process;
    int starts = 0;
    bool given_up = false;
  };
  void start(Member& member);
  std::vector<std::string> command_of(const Member& member) const;
  std::filesystem::path log_of(const Member& member) const;
  std::string last_words_of(const Member& member) const;
  std::string why_it_ended(const Member& member, int code, const std::string& words) const;

  PsOptions options_;
  std::vector<Host> hosts_;
  std::vector<std::string> words_;
  std::string key_;
  std::filesystem::path logs_;
  // Its name is short: sockets lie in it, whose paths may have about a hundred letters.
  data::ScratchFolder folder_;
  bool one_machine_;
  std::string transport_;
  train::PsMeeting meeting_;
  std::vector<Member> members_;
  int restarted_ = 0;
};

// The folder in which a server keeps what must survive it; in memory where the system has such.
std::filesystem::path server_state_file(std::uint64_t run, int server);

}  // namespace trainyard::cli
