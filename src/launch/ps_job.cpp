#include "launch/ps_job.h"

#include <unistd.h>

#include <fstream>
#include <sstream>

#include "base/file.h"
#include "launch/ps_part.h"

namespace trainyard::launch {

namespace {

using comm::transport::Address;

constexpr double kSecondsToEnd = 2;  // that processes have to end by themselves

}  // namespace

PsJob::PsJob(const run::PsOptions& options, std::vector<Host> hosts, std::vector<std::string> words,
             const comm::transport::JobKey& key, const std::filesystem::path& logs, ProgressListener* notes)
    : options_(options),
      hosts_(std::move(hosts)),
      words_(std::move(words)),
      key_(key.to_text()),
      logs_(logs),
      notes_(notes),
      folder_(std::filesystem::temp_directory_path(), "trainyard-job-") {
  one_machine_ = std::all_of(hosts_.begin(), hosts_.end(), [](const Host& host) { return host.is_here(); });
  if (!one_machine_ && (options.transport == "shm" || options.transport == "unix"))
    fail(ErrorKind::usage, "{} {}: does not reach other machines", Setting{"transport"}, options.transport);
  transport_ = options.transport != "auto" ? options.transport : one_machine_ ? "shm" : "tcp";
  if (logs_.empty()) logs_ = folder_.path() / "logs";
  make_folders(logs_);
  int workers = 0, servers = 0;
  std::map<std::string, int> shares;  // taken, by machine
  for (const Host& host : hosts_) {
    for (int i = 0; i < host.servers; ++i) {
      Member& member = members_.emplace_back();
      member.server = true;
      member.number = servers++;
      member.host = &host;
    }
    for (int i = 0; i < host.workers; ++i) {
      Member& member = members_.emplace_back();
      member.number = workers++;
      member.host = &host;
      member.share = shares[host.name]++;
      member.sharers = workers_beside(host, hosts_);
    }
  }
}

PsJob::~PsJob() {
  members_.clear();
  std::error_code ignored;
  for (int server = 0; server < options_.servers; ++server)
    std::filesystem::remove(server_state_file(meeting_.run, server), ignored);
}

Address PsJob::coordinator_address() const {
  if (transport_ == "tcp")
    return {.kind = Address::Kind::tcp, .host = one_machine_ ? "127.0.0.1" : "0.0.0.0", .port = 0};
  return Address::parse("unix:" + (folder_.path() / "coordinator").string());
}

void PsJob::start(const train::PsMeeting& meeting) {
  meeting_ = meeting;
  const std::string here = options_.address.empty() ? own_address(hosts_) : options_.address;
  if (meeting_.coordinator.host == "0.0.0.0") meeting_.coordinator.host = here;
  for (Host& host : hosts_)
    if (host.is_here()) host.address = here;
  for (Member& member : members_) {
    if (member.server)
      member.listen = transport_ == "tcp"
                          ? (one_machine_ ? "tcp:127.0.0.1:0" : "tcp:0.0.0.0:0")
                          : fmt::format("{}:{}", transport_,
                                        (folder_.path() / fmt::format("server-{}", member.number)).string());
    start(member);
  }
}

void PsJob::start(Member& member) {
  member.process.reset();
  // A server has something to put away, and a remote shell somebody to tell.
  const int when_we_die = member.server || !member.host->is_here() ? SIGTERM : SIGKILL;
  member.process = std::make_unique<process::BackgroundChild>(command_of(member), key_ + "\n", log_of(member),
                                                              when_we_die);
  ++member.starts;
}

std::vector<std::string> PsJob::command_of(const Member& member) const {
  const Host& host = *member.host;
  std::vector<std::string> command;
  if (!host.is_here()) {
    std::istringstream shell(options_.remote_shell.empty() ? "ssh" : options_.remote_shell);
    const std::string place = "{}";
    for (std::string word; shell >> word;) {
      const std::size_t at = word.find(place);
      if (at != std::string::npos) word.replace(at, place.size(), host.name);
      command.push_back(word);
    }
    if (options_.remote_shell.find(place) == std::string::npos) command.push_back(host.name);
  }
  command.insert(command.end(), {process::own_program().string(), member.server ? "serve-params" : "worker"});
  command.insert(command.end(), words_.begin(), words_.end());
  const auto add = [&](const char* option, const std::string& value) {
    command.insert(command.end(), {option, value});
  };
  add("--join", meeting_.coordinator.to_string());
  add("--number", std::to_string(member.number));
  add("--job-key", "-");
  if (member.server) {
    add("--listen", member.listen);
    if (!one_machine_) add("--advertise", host.address);
    add("--elements", std::to_string(meeting_.elements));
    add("--parameters", std::to_string(meeting_.parameters));
    add("--batches", std::to_string(meeting_.batches));
    add("--run", std::to_string(meeting_.run));
  } else {
    add("--layout", train::name(meeting_.layout));
    add("--fingerprint", std::to_string(meeting_.fingerprint));
    add("--share", fmt::format("{}/{}", member.share, member.sharers));
    if (host.device) add("--on-device", host.device->to_string());
    if (!host.backend.empty()) add("--with-backend", host.backend);
  }
  return command;
}

std::filesystem::path PsJob::log_of(const Member& member) const {
  return logs_ / fmt::format("{}-{}.log", member.server ? "server" : "worker", member.number);
}

std::string PsJob::last_words_of(const Member& member) const {
  std::ifstream file(log_of(member));
  std::string last;
  for (std::string line; std::getline(file, line);)
    if (!line.empty()) last = line;
  return last;
}

std::string PsJob::why_it_ended(const Member& member, int code, const std::string& words) const {
  const std::string who = fmt::format("{} {}", member.server ? "server" : "worker", member.number);
  if (code > 128) return fmt::format("{} was ended by signal {}", who, code - 128);
  constexpr std::string_view kOwnName = "trainyard: ";
  const std::string said = words.starts_with(kOwnName) ? words.substr(kOwnName.size()) : words;
  return said.starts_with(who) ? said : fmt::format("{} ended with exit code {}: {}", who, code, said);
}

std::optional<Error> PsJob::look() {
  int workers = 0;
  std::optional<Error> failure;
  for (Member& member : members_) {
    const std::optional<int> code = member.process == nullptr ? std::optional(0) : member.process->end_code();
    if (!code || *code == 0) {
      workers += member.server ? 0 : 1;
      continue;
    }
    if (member.given_up) continue;
    const std::string words = last_words_of(member), why = why_it_ended(member, *code, words);
    // It would end so again: what the caller can mend, and numbers that are none any more.
    const bool in_vain = *code == process::kCallerCanMendIt || record::says_not_a_number(words);
    if (member.starts <= options_.restarts && !in_vain) {
      if (notes_ != nullptr) notes_->warn(fmt::format("{}; it is started again", why));
      ++restarted_;
      start(member);
      workers += member.server ? 0 : 1;
      continue;
    }
    member.given_up = true;
    failure.emplace(*code == process::kCallerCanMendIt ? ErrorKind::config
                    : in_vain                          ? ErrorKind::device
                                                       : ErrorKind::peer,
                    why);
    if (member.server || in_vain) return failure;
  }
  const int all = static_cast<int>(members_.size()) - options_.servers;
  const int least = options_.least_workers > 0 ? options_.least_workers : all;
  if (workers < least) return failure ? failure : Error(ErrorKind::peer, "too few workers are left");
  if (failure && notes_ != nullptr)
    notes_->warn(fmt::format("{}; the run goes on with {} workers", failure->what(), workers));
  return std::nullopt;
}

std::string PsJob::node_of_worker(int number) const {
  for (const Member& member : members_) {
    if (member.server || member.number != number) continue;
    std::ifstream file(log_of(member));
    std::string node;
    for (std::string line; std::getline(file, line);)
      if (const std::string said = node_in(line, "worker", number); !said.empty()) node = said;
    return node.empty() ? member.host->name : node;
  }
  return "";
}

std::vector<int> PsJob::cores_in_reach(int threads, int each) const {
  constexpr int kCores = 1024;  // of a machine, at most
  std::map<std::string, int> machines;
  std::set<int> cores;
  for (const Member& member : members_) {
    if (member.server) continue;
    if (member.host->is_here()) {
      const std::vector<int> own = cores_of_share(threads, member.share, member.sharers);
      cores.insert(own.begin(), own.end());
      continue;
    }
    const int machine =
        machines.emplace(member.host->name, static_cast<int>(machines.size()) + 1).first->second;
    for (int i = 0; i < each; ++i) cores.insert(machine * kCores + member.share * each + i);
  }
  return {cores.begin(), cores.end()};
}

void PsJob::end() {
  const auto all_ended = [&] {
    for (Member& member : members_)
      if (member.process != nullptr && !member.process->end_code()) return false;
    return true;
  };
  for (const int signal : {0, SIGTERM}) {
    const double began = now_seconds();
    if (signal != 0)
      for (const Member& member : members_)
        if (member.process != nullptr) member.process->signal(signal);
    while (!all_ended() && now_seconds() - began < kSecondsToEnd)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace trainyard::launch
