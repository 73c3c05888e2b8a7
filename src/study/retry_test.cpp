#include "study/retry.h"

#include <gtest/gtest.h>

#include "base/test_folder.h"

namespace trainyard::study {
namespace {

using record::Status;

bool again(Status status, const std::string& policy) {
  record::RunRecord run;
  run.status = status;
  return runs_again(run, parse_retry_policy(policy));
}

TEST(Retry, WhatTheSurroundingsEndedIsTriedAgain) {
  for (const Status status : {Status::crash, Status::cancelled, Status::interrupted})
    EXPECT_TRUE(again(status, "")) << name(status);
}

TEST(Retry, WhatWouldEndTheSameWayNeedsToBeAskedFor) {
  for (const Status status :
       {Status::failed, Status::nan, Status::diverged, Status::oom, Status::timeout, Status::refused}) {
    EXPECT_FALSE(again(status, "")) << name(status);
    EXPECT_TRUE(again(status, name(status))) << name(status);
    EXPECT_TRUE(again(status, "all")) << name(status);
    EXPECT_EQ(again(status, "timeout,oom"), status == Status::timeout || status == Status::oom);
  }
}

TEST(Retry, AGoodRunIsNeverTriedAgain) {
  EXPECT_FALSE(again(Status::ok, ""));
  EXPECT_FALSE(again(Status::ok, "all"));
  expect_error(ErrorKind::usage, "retry 'ok'", [] { parse_retry_policy("ok"); });
}

TEST(Retry, NamesAStatusThatThereIsNot) {
  expect_error(ErrorKind::usage, "retry 'slow': not one of failed, nan, diverged, oom, timeout, refused, all",
               [] { parse_retry_policy("oom,slow"); });
}

}  // namespace
}  // namespace trainyard::study
