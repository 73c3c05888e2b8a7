#include "cli/run_command.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace trainyard::cli_test {
namespace {

constexpr auto kPatience = std::chrono::seconds(300);  // ends what hangs; a busy machine stays below

std::string content_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

}  // namespace

Command::Command(const std::vector<std::string>& arguments, const CommandOptions& options) {
  static std::atomic<int> count{0};
  // Beside the folder, not in it: tests look at what a command left there.
  const std::string stem = options.folder.string() + ".command-" + std::to_string(++count);
  out_ = stem + ".out";
  err_ = stem + ".err";
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("fork failed");
  if (pid_ > 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const auto& [name, value] : options.environment) ::setenv(name.c_str(), value.c_str(), 1);
  const int out = ::open(out_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644),
            err = ::open(err_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (out >= 0 && err >= 0 && ::chdir(options.folder.c_str()) == 0) {
    ::dup2(out, STDOUT_FILENO);
    ::dup2(err, STDERR_FILENO);
    ::execv(argv[0], argv.data());
  }
  ::_exit(127);
}

Command::~Command() {
  if (running()) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  std::error_code code;
  std::filesystem::remove(out_, code);
  std::filesystem::remove(err_, code);
}

void Command::signal(int number) const {
  if (pid_ > 0) ::kill(pid_, number);
}

bool Command::running() {
  if (pid_ > 0 && ::waitpid(pid_, &status_, WNOHANG) == pid_) pid_ = -1;
  return pid_ > 0;
}

CommandResult Command::wait() {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (running()) {
    if (std::chrono::steady_clock::now() > deadline) ::kill(pid_, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return {WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_), content_of(out_),
          content_of(err_)};
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::vector<std::string> trainyard(const std::string& arguments) {
  std::vector<std::string> words = words_of(arguments);
  words.insert(words.begin(), TRAINYARD_BINARY);
  return words;
}

CommandResult run(const std::vector<std::string>& arguments, const CommandOptions& options) {
  return Command(arguments, options).wait();
}

}  // namespace trainyard::cli_test
