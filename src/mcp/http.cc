#include "mcp/http.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <exception>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "base/json_text.h"
#include "mcp/http_sessions.h"
#include "mcp/http_stream.h"

namespace cove::mcp {
namespace {

constexpr std::chrono::seconds kKeepAlive{15};

// What every connection of one server shares.
struct Shared {
  Server& server;
  const HttpRules rules;
  HttpSessions sessions{kMostSessions};
};

HttpStream::Answer refused(int status, const std::string& why) {
  HttpStream::Answer answer{.status = status, .type = "application/json", .body = json_text({{"error", why}})};
  if (status == 401) answer.fields.emplace_back("WWW-Authenticate: Bearer");
  if (status == 405) answer.fields.emplace_back("Allow: POST, DELETE");
  return answer;
}

HttpStream::Answer json_answer(int status, std::string body) {
  return {.status = status, .type = "application/json", .body = std::move(body)};
}

// One connection, request after request.
class Connection {
 public:
  Connection(Shared& shared, UniqueFd socket) : shared_(shared), stream_(std::move(socket)) {}

  void serve() {
    const auto admit = [&](const HttpRequest& head) { return check_sender(head, shared_.rules).status == 200; };
    while (true) {
      const auto request = stream_.next(admit);
      if (request && !*request) return;
      const auto answered = request ? answer(**request) : refuse_unreadable(request.error());
      if (!answered) return;
      if (stream_.closing()) return stream_.finish();
    }
  }

 private:
  Result<void> refuse_unreadable(const Error& error) {
    return stream_.send(refused(error.code == Errc::busy ? 413 : 400, error.message));
  }

  Result<void> answer(const HttpRequest& request) {
    const HttpVerdict sender = check_sender(request, shared_.rules);
    if (sender.status != 200) return stream_.send(refused(sender.status, sender.why));
    if (request.target.substr(0, request.target.find('?')) != "/mcp")
      return stream_.send(refused(404, "the endpoint is /mcp"));
    if (request.method == "DELETE") return end_session(request);
    if (request.method != "POST") return stream_.send(refused(405, "POST messages here"));
    const HttpVerdict post = check_post(request);
    if (post.status != 200) return stream_.send(refused(post.status, post.why));
    return take_message(request);
  }

  Result<void> end_session(const HttpRequest& request) {
    const auto id = request.field("mcp-session-id");
    if (!id) return stream_.send(refused(400, "Mcp-Session-Id is missing"));
    if (!shared_.sessions.end(*id)) return stream_.send(refused(404, "there is no such session"));
    return stream_.send({.status = 204});
  }

  Result<void> take_message(const HttpRequest& request) {
    auto read = read_message(request.body);
    if (const auto* refusal = std::get_if<Refusal>(&read))
      return stream_.send(json_answer(400, error_text(check_refusal(request, *refusal))));
    auto message = std::get<Message>(std::move(read));
    if (const auto refusal = check_headers(request, message))
      return stream_.send(json_answer(http_status(*refusal, message.era), error_text(*refusal)));
    std::shared_ptr<Client> client = std::make_shared<Client>();
    std::vector<std::string> fields;
    if (message.era == Era::legacy && message.method == "initialize") {
      fields.push_back("Mcp-Session-Id: " + shared_.sessions.make());
    } else if (message.era == Era::legacy && request.count("mcp-session-id") > 0) {
      client = shared_.sessions.find(request.field("mcp-session-id").value_or(""));
      if (client == nullptr) return stream_.send(refused(404, "there is no such session: initialize again"));
    }
    if (message.kind != Message::Kind::request) {
      shared_.server.take(std::move(message), client, nullptr);
      return stream_.send({.status = 202});
    }
    const Era era = message.era;
    const auto reply =
        std::make_shared<HttpReply>(accepts_stream(request) ? HttpReply::Progress::sent : HttpReply::Progress::dropped);
    shared_.server.take(std::move(message), client, reply);
    const auto done = deliver(*reply, {era, accepts_stream(request), !accepts_json(request)}, fields);
    if (!done && era == Era::modern) client->cancel_all();
    return done;
  }

  struct Manner {
    Era era;
    bool may_stream, must_stream;
  };

  // An answer that is there at once is JSON; one that takes its time becomes a stream, so that there is something to
  // hear of meanwhile. The stream of a request that was cancelled ends without an answer.
  Result<void> deliver(HttpReply& reply, const Manner& manner, const std::vector<std::string>& fields) {
    bool streaming = manner.must_stream;
    if (streaming) COVE_CHECK(stream_.begin_events(fields));
    while (true) {
      COVE_TRY(const bool ready, wait(reply));
      auto taken = reply.take();
      const bool cancelled = taken.finished && taken.messages.empty();
      if (!streaming && taken.finished && taken.messages.size() <= 1 && !(cancelled && manner.may_stream))
        return send_whole(taken, manner.era, fields);
      const bool begin = !streaming && manner.may_stream && (!ready || taken.finished || !taken.messages.empty());
      if (begin) COVE_CHECK(stream_.begin_events(fields));
      streaming = streaming || begin;
      for (const std::string& message : taken.messages) COVE_CHECK(stream_.send_event(message));
      if (taken.finished) return stream_.end_events();
      if (!ready && streaming) COVE_CHECK(stream_.send_comment());
    }
  }

  Result<void> send_whole(const HttpReply::Taken& taken, Era era, const std::vector<std::string>& fields) {
    // Cancelled: there is nothing to say, and nobody to say it to.
    if (taken.messages.empty()) return stream_.send({.status = 204, .fields = fields});
    const Json json = Json::parse(taken.messages.front(), nullptr, false);
    HttpStream::Answer answer = json_answer(200, taken.messages.front());
    if (era == Era::modern && json.contains("error") && json["error"].value("code", 0) == kMethodNotFound)
      answer.status = 404;
    answer.fields = fields;
    return stream_.send(answer);
  }

  // True: there is something to take. False: a while has passed. disconnected: the client has gone.
  Result<bool> wait(const HttpReply& reply) {
    pollfd fds[2] = {{reply.event(), POLLIN, 0}, {stream_.fd(), POLLRDHUP, 0}};
    const int n = poll(fds, 2, Deadline::after(kKeepAlive).poll_timeout());
    if (n < 0 && errno != EINTR) return fail_errno("wait for a call");
    if (n > 0 && fds[1].revents != 0) return fail(Errc::disconnected, "the client has gone");
    return n != 0;
  }

  Shared& shared_;
  HttpStream stream_;
};

// The threads of connections, and their sockets, to close them when all is over.
class Connections {
 public:
  explicit Connections(Shared& shared) : shared_(shared) {}

  void add(UniqueFd socket) {
    const int fd = socket.get();
    {
      const std::lock_guard guard(mutex_);
      if (sockets_.size() >= kMostConnections) return;  // closed, which says it
      sockets_.insert(fd);
    }
    try {
      std::thread([this, fd, connection = std::make_shared<Connection>(shared_, std::move(socket))]() mutable {
        try {
          connection->serve();
        } catch (const std::exception&) {
          // Out of memory, most likely: this connection ends, the server does not.
        }
        const std::lock_guard guard(mutex_);
        sockets_.erase(fd);
        connection.reset();  // closes: not before it is forgotten, because the number may be given out again
        empty_.notify_all();
      }).detach();
    } catch (const std::exception&) {
      const std::lock_guard guard(mutex_);
      sockets_.erase(fd);
    }
  }

  void end_all() {
    std::unique_lock lock(mutex_);
    for (const int fd : sockets_) shutdown(fd, SHUT_RDWR);
    empty_.wait(lock, [&] { return sockets_.empty(); });
  }

 private:
  Shared& shared_;
  std::mutex mutex_;
  std::condition_variable empty_;
  std::set<int> sockets_;
};

}  // namespace

void serve_http(Server& server, const Listening& listening, HttpRules rules, int stop) {
  Shared shared{server, std::move(rules)};
  Connections connections(shared);
  while (true) {
    pollfd fds[2] = {{listening.socket.get(), POLLIN, 0}, {stop, POLLIN, 0}};
    if (poll(fds, 2, -1) < 0 && errno != EINTR) break;
    if (fds[1].revents != 0) break;
    UniqueFd socket(accept4(listening.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (socket)
      connections.add(std::move(socket));
    else if (errno == EMFILE || errno == ENFILE)
      poll(nullptr, 0, 100);  // a moment later there may be descriptors again
  }
  server.stop();
  connections.end_all();
}

}  // namespace cove::mcp
