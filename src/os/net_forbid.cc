#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/unique_fd.h"
#include "os/net.h"
#include "os/netlink.h"

namespace cove::os {
namespace {

constexpr const char* kTable = "cove";
constexpr const char* kChain = "forbidden";
constexpr std::uint32_t kLoopbackDevice = 1;

void add_prohibit_route(NetlinkMessages& messages, const Ipv4Net& destination) {
  rtmsg header{};
  header.rtm_family = AF_INET;
  header.rtm_dst_len = destination.bits;
  header.rtm_table = RT_TABLE_MAIN;
  header.rtm_protocol = RTPROT_STATIC;
  header.rtm_scope = RT_SCOPE_UNIVERSE;
  header.rtm_type = RTN_PROHIBIT;
  messages.begin(RTM_NEWROUTE, NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE, bytes_of(header));
  messages.attribute(RTA_DST, bytes_of(htonl(destination.address)));
}

// nf_tables takes its changes as one transaction between two marks.
void add_mark(NetlinkMessages& messages, std::uint16_t type) {
  messages.begin(type, 0, bytes_of(nfgenmsg{AF_UNSPEC, NFNETLINK_V0, htons(NFNL_SUBSYS_NFTABLES)}));
}

void begin_nft(NetlinkMessages& messages, int type, int flags) {
  const auto full_type = static_cast<std::uint16_t>((NFNL_SUBSYS_NFTABLES << 8) | type);
  messages.begin(full_type, static_cast<std::uint16_t>(NLM_F_ACK | NLM_F_CREATE | flags),
                 bytes_of(nfgenmsg{NFPROTO_IPV4, NFNETLINK_V0, 0}));
}

void add_table_and_chain(NetlinkMessages& messages) {
  begin_nft(messages, NFT_MSG_NEWTABLE, 0);
  messages.text(NFTA_TABLE_NAME, kTable);
  begin_nft(messages, NFT_MSG_NEWCHAIN, 0);
  messages.text(NFTA_CHAIN_TABLE, kTable);
  messages.text(NFTA_CHAIN_NAME, kChain);
  const std::size_t hook = messages.begin_nested(NLA_F_NESTED | NFTA_CHAIN_HOOK);
  messages.number(NFTA_HOOK_HOOKNUM, NF_INET_LOCAL_OUT);
  messages.number(NFTA_HOOK_PRIORITY, 0);
  messages.end_nested(hook);
  messages.text(NFTA_CHAIN_TYPE, "filter");
  messages.number(NFTA_CHAIN_POLICY, NF_ACCEPT);
}

// One step of a rule; `fill` adds its attributes.
template <class Fill>
void add_expression(NetlinkMessages& messages, std::string_view name, Fill fill) {
  const std::size_t element = messages.begin_nested(NLA_F_NESTED | NFTA_LIST_ELEM);
  messages.text(NFTA_EXPR_NAME, name);
  const std::size_t data = messages.begin_nested(NLA_F_NESTED | NFTA_EXPR_DATA);
  fill();
  messages.end_nested(data);
  messages.end_nested(element);
}

void add_value(NetlinkMessages& messages, std::uint16_t type, std::uint32_t value) {
  const std::size_t nested = messages.begin_nested(NLA_F_NESTED | type);
  messages.number(NFTA_DATA_VALUE, value);
  messages.end_nested(nested);
}

// On other devices than the loopback, which is number 1 in every namespace: the destination stands at byte 16 of the
// IPv4 header; load it, mask it, compare it, drop.
void add_drop_rule(NetlinkMessages& messages, const Ipv4Net& destination) {
  const std::uint32_t mask = destination.bits == 0 ? 0 : ~std::uint32_t{0} << (32 - destination.bits);
  begin_nft(messages, NFT_MSG_NEWRULE, NLM_F_APPEND);
  messages.text(NFTA_RULE_TABLE, kTable);
  messages.text(NFTA_RULE_CHAIN, kChain);
  const std::size_t all = messages.begin_nested(NLA_F_NESTED | NFTA_RULE_EXPRESSIONS);
  add_expression(messages, "meta", [&] {
    messages.number(NFTA_META_DREG, NFT_REG_1);
    messages.number(NFTA_META_KEY, NFT_META_OIF);
  });
  add_expression(messages, "cmp", [&] {
    messages.number(NFTA_CMP_SREG, NFT_REG_1);
    messages.number(NFTA_CMP_OP, NFT_CMP_NEQ);
    const std::size_t nested = messages.begin_nested(NLA_F_NESTED | NFTA_CMP_DATA);
    messages.attribute(NFTA_DATA_VALUE, bytes_of(kLoopbackDevice));
    messages.end_nested(nested);
  });
  add_expression(messages, "payload", [&] {
    messages.number(NFTA_PAYLOAD_DREG, NFT_REG_1);
    messages.number(NFTA_PAYLOAD_BASE, NFT_PAYLOAD_NETWORK_HEADER);
    messages.number(NFTA_PAYLOAD_OFFSET, 16);
    messages.number(NFTA_PAYLOAD_LEN, 4);
  });
  add_expression(messages, "bitwise", [&] {
    messages.number(NFTA_BITWISE_SREG, NFT_REG_1);
    messages.number(NFTA_BITWISE_DREG, NFT_REG_1);
    messages.number(NFTA_BITWISE_LEN, 4);
    add_value(messages, NFTA_BITWISE_MASK, mask);
    add_value(messages, NFTA_BITWISE_XOR, 0);
  });
  add_expression(messages, "cmp", [&] {
    messages.number(NFTA_CMP_SREG, NFT_REG_1);
    messages.number(NFTA_CMP_OP, NFT_CMP_EQ);
    add_value(messages, NFTA_CMP_DATA, destination.address & mask);
  });
  add_expression(messages, "immediate", [&] {
    messages.number(NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
    const std::size_t data = messages.begin_nested(NLA_F_NESTED | NFTA_IMMEDIATE_DATA);
    const std::size_t verdict = messages.begin_nested(NLA_F_NESTED | NFTA_DATA_VERDICT);
    messages.number(NFTA_VERDICT_CODE, NF_DROP);
    messages.end_nested(verdict);
    messages.end_nested(data);
  });
  messages.end_nested(all);
}

enum class Step : int { enter, routes, filter, done };

// In a child, because only a process with one thread may change its user namespace.
std::array<int, 2> apply(int user_ns, int net_ns, const NetlinkMessages& routes, const NetlinkMessages& filter) {
  const auto report = [](Step step, int error) { return std::array<int, 2>{static_cast<int>(step), error}; };
  // EINVAL: it is our own user namespace already.
  if (setns(user_ns, CLONE_NEWUSER) < 0 && errno != EINVAL) return report(Step::enter, errno);
  if (setns(net_ns, CLONE_NEWNET) < 0) return report(Step::enter, errno);
  if (const int error = routes.send(NETLINK_ROUTE); error != 0) return report(Step::routes, error);
  if (const int error = filter.send(NETLINK_NETFILTER); error != 0) return report(Step::filter, error);
  return report(Step::done, 0);
}

Result<void> explain(const std::array<int, 2>& report) {
  switch (static_cast<Step>(report[0])) {
    case Step::enter: return fail(errno_error(report[1], "enter the sandbox's network"));
    case Step::routes: return fail(errno_error(report[1], "set prohibit routes in the sandbox's network"));
    case Step::filter: {
      Error error = errno_error(report[1], "set a packet filter in the sandbox's network");
      error.message += " (the kernel needs nf_tables: `modprobe nf_tables`)";
      return fail(Error{Errc::unsupported, error.message});
    }
    case Step::done: break;
  }
  return {};
}

}  // namespace

Result<void> forbid_destinations(pid_t pid, const std::vector<Ipv4Net>& destinations) {
  if (destinations.empty()) return {};
  NetlinkMessages routes, filter;
  for (const Ipv4Net& one : destinations) add_prohibit_route(routes, one);
  add_mark(filter, NFNL_MSG_BATCH_BEGIN);
  add_table_and_chain(filter);
  for (const Ipv4Net& one : destinations) add_drop_rule(filter, one);
  add_mark(filter, NFNL_MSG_BATCH_END);
  const std::string ns = "/proc/" + std::to_string(pid) + "/ns/";
  const UniqueFd user_ns(open((ns + "user").c_str(), O_RDONLY | O_CLOEXEC));
  const UniqueFd net_ns(open((ns + "net").c_str(), O_RDONLY | O_CLOEXEC));
  if (!user_ns || !net_ns) return fail_errno("open the namespaces of the sandbox's process " + std::to_string(pid));
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return fail_errno("pipe");
  const UniqueFd in(ends[0]);
  UniqueFd out(ends[1]);
  const pid_t child = fork();
  if (child < 0) return fail_errno("fork");
  if (child == 0) {
    const std::array<int, 2> report = apply(user_ns.get(), net_ns.get(), routes, filter);
    _exit(write(out.get(), report.data(), sizeof(report)) == sizeof(report) ? 0 : 1);
  }
  out.reset();
  std::array<int, 2> report{};
  ssize_t n = 0;
  while ((n = read(in.get(), report.data(), sizeof(report))) < 0 && errno == EINTR) {}
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {}
  if (n != sizeof(report)) return fail(Errc::internal, "set the sandbox's routes: the helper process died");
  return explain(report);
}

}  // namespace cove::os
