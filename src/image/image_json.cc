#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "image/digest.h"
#include "image/image.h"
#include "image/json_fields.h"

namespace cove::image {
namespace {

Result<ImageConfig> own_config(const Json& json) {
  const Fields fields(json, "the image's config");
  ImageConfig config;
  COVE_TRY(config.env, fields.texts("env"));
  COVE_TRY(config.entrypoint, fields.texts("entrypoint"));
  COVE_TRY(config.cmd, fields.texts("cmd"));
  COVE_TRY(config.shell, fields.texts("shell"));
  COVE_TRY(config.cwd, fields.text("cwd"));
  COVE_TRY(config.user, fields.text("user"));
  COVE_TRY(config.os, fields.text("os"));
  COVE_TRY(config.architecture, fields.text("architecture"));
  COVE_TRY(config.variant, fields.text("variant"));
  COVE_TRY(config.exposed_ports, fields.texts("exposed_ports"));
  COVE_TRY(config.volumes, fields.texts("volumes"));
  COVE_TRY(config.stop_signal, fields.text("stop_signal"));
  COVE_TRY(config.labels, fields.text_map("labels"));
  return config;
}

Json to_json(const ImageConfig& config) {
  return {{"env", config.env},         {"entrypoint", config.entrypoint},
          {"cmd", config.cmd},         {"shell", config.shell},
          {"cwd", config.cwd},         {"user", config.user},
          {"os", config.os},           {"architecture", config.architecture},
          {"variant", config.variant}, {"exposed_ports", config.exposed_ports},
          {"volumes", config.volumes}, {"stop_signal", config.stop_signal},
          {"labels", config.labels}};
}

Result<std::string> optional_digest(const Fields& fields, const char* name) {
  COVE_TRY(std::string digest, fields.text(name));
  if (!digest.empty() && !is_digest(digest)) return fields.wrong(name, "is no digest");
  return digest;
}

Result<std::vector<std::string>> digests(const Fields& fields, const char* name) {
  COVE_TRY(std::vector<std::string> all, fields.texts(name));
  if (all.size() > kMostLayers) return fields.wrong(name, "has more than 1024 layers");
  if (!std::all_of(all.begin(), all.end(), is_digest)) return fields.wrong(name, "has something that is no digest");
  return all;
}

// `Config` of an OCI config: what the container runtime is to do.
Result<void> read_runtime(const Json& json, ImageConfig& config) {
  const Fields fields(json, "the image config's 'config'");
  COVE_TRY(config.env, fields.texts("Env"));
  COVE_TRY(config.entrypoint, fields.texts("Entrypoint"));
  COVE_TRY(config.cmd, fields.texts("Cmd"));
  COVE_TRY(config.shell, fields.texts("Shell"));
  COVE_TRY(config.cwd, fields.text("WorkingDir"));
  COVE_TRY(config.user, fields.text("User"));
  COVE_TRY(config.exposed_ports, fields.keys("ExposedPorts"));
  COVE_TRY(config.volumes, fields.keys("Volumes"));
  COVE_TRY(config.stop_signal, fields.text("StopSignal"));
  COVE_TRY(config.labels, fields.text_map("Labels"));
  return {};
}

Json set_of(const std::vector<std::string>& names) {
  Json set = Json::object();
  for (const std::string& name : names) set[name] = Json::object();
  return set;
}

Json runtime_json(const ImageConfig& config) {
  Json json = Json::object();
  const auto put = [&](const char* name, const auto& value) {
    if (!value.empty()) json[name] = value;
  };
  put("Env", config.env);
  put("Entrypoint", config.entrypoint);
  put("Cmd", config.cmd);
  put("Shell", config.shell);
  put("WorkingDir", config.cwd);
  put("User", config.user);
  put("ExposedPorts", set_of(config.exposed_ports));
  put("Volumes", set_of(config.volumes));
  put("StopSignal", config.stop_signal);
  put("Labels", config.labels);
  return json;
}

}  // namespace

std::string to_json(const Image& image) {
  return json_text(Json{{"name", image.name},
                        {"digest", image.digest},
                        {"config_digest", image.config_digest},
                        {"layers", image.layers},
                        {"size", image.size},
                        {"created", image.created},
                        {"config", to_json(image.config)}}) +
         "\n";
}

Result<Image> image_from_json(std::string_view text) {
  COVE_TRY(const Json json, parse_object(text, "the image's file"));
  const Fields fields(json, "the image's file");
  Image image;
  COVE_TRY(image.name, fields.text("name"));
  if (image.name.empty()) return fields.wrong("name", "is missing");
  COVE_TRY(image.digest, optional_digest(fields, "digest"));
  COVE_TRY(image.config_digest, optional_digest(fields, "config_digest"));
  COVE_TRY(image.layers, digests(fields, "layers"));
  COVE_TRY(image.size, fields.number("size"));
  COVE_TRY(image.created, fields.text("created"));
  COVE_TRY(const Json config, fields.object("config"));
  COVE_TRY(image.config, own_config(config));
  return image;
}

Result<OciConfig> oci_config_from_json(std::string_view text) {
  COVE_TRY(const Json json, parse_object(text, "the image config"));
  const Fields fields(json, "the image config");
  OciConfig all;
  COVE_TRY(all.created, fields.text("created"));
  COVE_TRY(all.config.os, fields.text("os"));
  COVE_TRY(all.config.architecture, fields.text("architecture"));
  COVE_TRY(all.config.variant, fields.text("variant"));
  COVE_TRY(const Json runtime, fields.object("config"));
  COVE_CHECK(read_runtime(runtime, all.config));
  COVE_TRY(const Json rootfs, fields.object("rootfs"));
  COVE_TRY(all.diff_ids, digests(Fields(rootfs, "the image config's 'rootfs'"), "diff_ids"));
  return all;
}

std::string oci_config_to_json(const OciConfig& all) {
  Json json{{"os", all.config.os},
            {"architecture", all.config.architecture},
            {"config", runtime_json(all.config)},
            {"rootfs", {{"type", "layers"}, {"diff_ids", all.diff_ids}}}};
  if (!all.config.variant.empty()) json["variant"] = all.config.variant;
  if (!all.created.empty()) json["created"] = all.created;
  return json_text(json);
}

}  // namespace cove::image
