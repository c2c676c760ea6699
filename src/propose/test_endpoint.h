// A scripted endpoint for tests: each connection carries one request, answered by the next entry of a script
// with whatever bytes it likes.
#pragma once

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace tritogen {

class TestEndpoint {
 public:
  // Gets the connection and the request, head and body; the connection is closed after it.
  using Answer = std::function<void(int connection, const std::string& request)>;

  explicit TestEndpoint(std::vector<Answer> script = {}) : script_(std::move(script)) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(listener_, 128) != 0)
      std::abort();
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { Accept(); });
  }
  ~TestEndpoint() {
    over_ = true;
    shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    for (std::thread& thread : threads_) thread.join();
    close(listener_);
  }

  // One more answer at the end of the script; before it is asked for.
  void Then(Answer answer) {
    const std::lock_guard lock(mutex_);
    script_.push_back(std::move(answer));
  }
  std::string url() const { return fmt::format("http://127.0.0.1:{}/v1", port_); }
  std::vector<std::string> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

  static void Send(int connection, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
  }
  // A whole response with a length.
  static Answer Respond(std::string status, std::string body, std::string headers = "") {
    return [=](int connection, const std::string&) {
      Send(connection, fmt::format("HTTP/1.1 {}\r\nContent-Length: {}\r\nConnection: close\r\n{}\r\n{}",
                                   status, body.size(), headers, body));
    };
  }
  // These bytes in pieces of that size, then the end.
  static Answer Stream(std::string body, size_t piece = 1 << 20) {
    return [=](int connection, const std::string&) {
      Send(connection, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n");
      for (size_t at = 0; at < body.size(); at += piece) {
        Send(connection, std::string_view(body).substr(at, piece));
        if (piece < 100) std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
    };
  }
  // Nothing, until the client goes away or the test ends.
  Answer Hang(std::string first = "") {
    return [this, first](int connection, const std::string&) {
      Send(connection, first);
      char byte;
      while (!over_ && recv(connection, &byte, 1, MSG_DONTWAIT) != 0)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    };
  }
  // Hands out the connection's end at once, as a crash does.
  static Answer Reset() {
    return [](int connection, const std::string&) {
      const linger rude{1, 0};
      setsockopt(connection, SOL_SOCKET, SO_LINGER, &rude, sizeof rude);
    };
  }

 private:
  void Accept() {
    while (true) {
      const int connection = accept(listener_, nullptr, nullptr);
      if (connection < 0) return;
      threads_.emplace_back([this, connection] { Serve(connection); });
    }
  }

  void Serve(int connection) {
    const std::string request = Read(connection);
    Answer answer;
    {
      const std::lock_guard lock(mutex_);
      answer = script_[std::min(requests_.size(), script_.size() - 1)];
      requests_.push_back(request);
    }
    answer(connection, request);
    close(connection);
  }

  static std::string Read(int connection) {
    std::string text;
    char buffer[65536];
    while (true) {
      const size_t head = text.find("\r\n\r\n"), length = text.find("Content-Length: ");
      if (head != std::string::npos && length < head &&
          text.size() >= head + 4 + std::stoul(text.substr(length + 16)))
        return text;
      const ssize_t count = read(connection, buffer, sizeof buffer);
      if (count <= 0) return text;
      text.append(buffer, static_cast<size_t>(count));
    }
  }

  std::vector<Answer> script_;
  int listener_ = -1, port_ = 0;
  std::atomic<bool> over_ = false;
  mutable std::mutex mutex_;
  std::vector<std::string> requests_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

}  // namespace tritogen
