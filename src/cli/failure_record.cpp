#include "cli/failure_record.h"

#include <new>

#include "cli/exit_code.h"
#include "cli/run_report.h"
#include "study/end_status.h"

namespace trainyard::cli {
namespace {

void record_failure(const std::string& command, const RunStart& start, const RunOptions& options,
                    const DeploymentOptions& deployment, int exit_code, const std::string& message) {
  if (options.record.empty()) return;
  record::RunRecord run = begin_record(command, start, options, to_deployment(deployment, options.batch));
  const study::EndStatus end = study::status_of_end({.exit_code = exit_code}, command, message, 0);
  run.status = end.status;
  run.reason = end.reason;
  run.exit_code = exit_code;
  try {
    keep_record(run, options);
  } catch (const Error&) {
    // Why the run failed is what the caller must hear of.
  }
}

}  // namespace

int recording_failure(const std::string& command, const RunOptions& options,
                      const DeploymentOptions& deployment, const std::function<int()>& run) {
  const RunStart start;
  const auto record = [&](int exit_code, const char* message) {
    record_failure(command, start, options, deployment, exit_code, message);
  };
  try {
    return run();
  } catch (const Error& error) {
    // What is mistyped never was a run; what this machine has not the memory for is one that was refused.
    if (exit_code(error.kind()) != kCallerCanMendIt || error.kind() == ErrorKind::unsupported)
      record(exit_code(error.kind()), error.what());
    throw;
  } catch (const std::bad_alloc&) {
    record(kRunFailed, "out of memory");
    throw;
  }
}

}  // namespace trainyard::cli
