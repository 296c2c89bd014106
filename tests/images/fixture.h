#pragma once

// One image, made once, pushed into one real registry; a COVE_HOME and a user's home of its own for each test.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "engines.h"
#include "helpers/program.h"
#include "image/store.h"
#include "servers.h"

namespace cove::image_tests {

class PullTest : public testing::Test {
 protected:
  static void SetUpTestSuite();
  static void TearDownTestSuite();
  void SetUp() override;
  void TearDown() override;

  // cove-image with these words.
  testing_helpers::Running start(const std::vector<std::string>& words, const std::vector<std::string>& env = {}) const;
  static Ran finish(testing_helpers::Running running);
  Ran pull(const std::string& name, const std::vector<std::string>& env = {}) const;

  image::Store store() const;
  bool has(const std::string& name) const;
  std::vector<std::string> downloads() const;                          // what is left in the store's downloads/
  void write(const std::string& path, const std::string& text) const;  // below folder_

  // Of all tests.
  static inline std::string root_, layout_, storage_;
  static inline std::unique_ptr<RegistryServer> registry_;
  // Digests of the image's layers as they are on the wire, bottom first; [2] is the large one.
  static inline std::vector<std::string> blobs_;
  static inline std::string why_not_;

  std::string folder_, home_;
};

}  // namespace cove::image_tests
