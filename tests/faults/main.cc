#include <gtest/gtest.h>

#include <csignal>

#include "helpers/home.h"

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  signal(SIGPIPE, SIG_IGN);
  cove::testing_helpers::home();
  return RUN_ALL_TESTS();
}
