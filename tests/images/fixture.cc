#include "fixture.h"

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "helpers/process.h"

namespace cove::image_tests {

namespace fs = std::filesystem;
using testing_helpers::slurp;

void PullTest::SetUpTestSuite() {
  why_not_ = missing({"docker-registry", "skopeo", "zstd", "setfattr", "busybox"});
  if (!why_not_.empty()) return;
  for (const char* name : {"DOCKER_CONFIG", "XDG_RUNTIME_DIR", "COVE_INSECURE_REGISTRIES", "SSL_CERT_FILE"}) {
    unsetenv(name);
  }
  std::string form = testing::TempDir() + "cove-pull-XXXXXX";
  root_ = mkdtemp(form.data());
  setenv("HOME", root_.c_str(), 1);
  layout_ = root_ + "/layout";
  storage_ = root_ + "/storage";
  const Ran made = shell(COVE_TEST_MAKE_IMAGE " " + layout_);
  ASSERT_EQ(made.code, 0) << made.text;
  registry_ = std::make_unique<RegistryServer>(root_ + "/registry", storage_);
  const Ran pushed = shell("skopeo copy --preserve-digests --dest-tls-verify=false oci:" + layout_ + ":test docker://" +
                           registry_->host() + "/a/b:1");
  ASSERT_EQ(pushed.code, 0) << pushed.text;
  const auto index = nlohmann::json::parse(slurp(layout_ + "/index.json"));
  const std::string digest = index["manifests"][0]["digest"];
  const auto manifest = nlohmann::json::parse(slurp(layout_ + "/blobs/sha256/" + digest.substr(7)));
  for (const auto& layer : manifest["layers"]) blobs_.push_back(layer["digest"]);
}

void PullTest::TearDownTestSuite() {
  registry_.reset();
  blobs_.clear();
  if (!root_.empty()) fs::remove_all(root_);
}

void PullTest::SetUp() {
  if (!why_not_.empty()) GTEST_SKIP() << why_not_;
  static int number = 0;
  folder_ = root_ + "/t" + std::to_string(++number);
  home_ = folder_ + "/cove";
  fs::create_directories(home_);
}

void PullTest::TearDown() {
  if (!folder_.empty()) fs::remove_all(folder_);
}

testing_helpers::Running PullTest::start(const std::vector<std::string>& words,
                                         const std::vector<std::string>& env) const {
  std::vector<std::string> argv{COVE_TEST_IMAGE_PROGRAM}, all = env;
  argv.insert(argv.end(), words.begin(), words.end());
  all.push_back("COVE_HOME=" + home_);
  all.push_back("HOME=" + folder_);
  auto running = testing_helpers::start_program(argv, all);
  if (!running) throw std::runtime_error(running.error().text());
  return std::move(*running);
}

Ran PullTest::finish(testing_helpers::Running running) {
  const int code = running.finish();
  return {code, running.heard};
}

Ran PullTest::pull(const std::string& name, const std::vector<std::string>& env) const {
  return finish(start({"pull", name}, env));
}

image::Store PullTest::store() const {
  auto opened = image::Store::open(home_);
  if (!opened) throw std::runtime_error(opened.error().text());
  return std::move(*opened);
}

bool PullTest::has(const std::string& name) const {
  const auto found = store().find(name);
  EXPECT_TRUE(found) << found.error().text();
  return found && found->has_value();
}

std::vector<std::string> PullTest::downloads() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(home_ + "/images/downloads"))
    names.push_back(entry.path().filename());
  return names;
}

void PullTest::write(const std::string& path, const std::string& text) const {
  fs::create_directories(fs::path(folder_ + "/" + path).parent_path());
  std::ofstream(folder_ + "/" + path) << text;
}

}  // namespace cove::image_tests
