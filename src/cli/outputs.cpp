#include "cli/outputs.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/file.h"
#include "comm/collective/mpi_job.h"

namespace trainyard::cli {

namespace {

struct NamedOutput {  // an option of a command
  const Command* command;
  const Option* option;
  bool is_folder;
};

std::vector<NamedOutput>& declared_outputs() {
  static std::vector<NamedOutput> outputs;
  return outputs;
}

}  // namespace

Option* add_output_file(Command& command, const std::string& names, std::filesystem::path& path,
                        const std::string& help) {
  Option* option = command.add_option(names, path, help)->type_name("FILE");
  declared_outputs().push_back({&command, option, false});
  return option;
}

Option* add_output_folder(Command& command, const std::string& names, std::filesystem::path& path,
                          const std::string& help) {
  Option* option = command.add_option(names, path, help)->type_name("DIR");
  declared_outputs().push_back({&command, option, true});
  return option;
}

void leave_outputs_to_starter(const Command& command) {
  std::erase_if(declared_outputs(), [&](const NamedOutput& output) { return output.command == &command; });
}

void check_outputs() {
  if (comm::collective::mpi_job_rank() > 0) return;
  for (const NamedOutput& output : declared_outputs()) {
    if (output.option->count() == 0) continue;
    const std::filesystem::path path = output.option->results().back();
    try {
      output.is_folder ? check_output_folder(path) : check_output_file(path);
    } catch (const Error& error) {
      fail(error.kind(), "{}: {}", output.option->name(), error.with_options());
    }
  }
}

int report_interrupted(const std::string& what) {
  std::fflush(stdout);
  std::fprintf(stderr, "trainyard: %s\n", what.c_str());
  return kInterrupted;
}

void hold_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) != -1 || errno != EBADF) continue;
    // The lowest number that is free is this one. Writing to what is open for reading fails.
    [[maybe_unused]] const int held = ::open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY);
  }
}

bool finish_standard_output(int earlier_errno) {
  const bool failed_before = std::ferror(stdout) != 0;
  int reason = earlier_errno;
  if (std::fflush(stdout) != 0) reason = errno;
  // A file system over the network may tell only here that it has no room.
  if (const int copy = ::dup(STDOUT_FILENO); copy >= 0 && ::close(copy) != 0) reason = errno;
  if (!failed_before && reason == 0) return true;
  // Not by fmt::print, which throws where standard error cannot be written either.
  std::fprintf(stderr, "trainyard: cannot write standard output: %s\n",
               reason != 0 ? std::strerror(reason) : "it failed before");
  return false;
}

}  // namespace trainyard::cli
