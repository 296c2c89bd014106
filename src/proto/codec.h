#pragma once

// Structs to bytes and back. A message lists its fields once:
//
//   struct Resize {
//     std::uint16_t rows = 0, columns = 0;
//     template <class Ar, class Self> static void fields(Ar& ar, Self& s) { ar(s.rows, s.columns); }
//   };
//
// Integers are little-endian, a double is its bits, bool is one byte 0 or 1, an enum is one byte and names its last
// value by `last(E)`, strings and vectors carry a u32 count, a pair is its two members. A payload must be used up
// exactly: trailing bytes are an error.

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"

namespace cove::proto {

class Encoder {
 public:
  template <class... T>
  void operator()(const T&... values) {
    (put(values), ...);
  }
  std::string take() { return std::move(out_); }

 private:
  void put(const std::string& value) {
    put(static_cast<std::uint32_t>(value.size()));
    out_ += value;
  }
  template <class T>
  void put(const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      out_ += static_cast<char>(value ? 1 : 0);
    } else if constexpr (std::is_enum_v<T>) {
      out_ += static_cast<char>(value);
    } else if constexpr (std::is_integral_v<T>) {
      for (std::size_t i = 0; i < sizeof(T); ++i) {
        out_ += static_cast<char>(static_cast<std::make_unsigned_t<T>>(value) >> (8 * i));
      }
    } else if constexpr (std::is_same_v<T, double>) {
      put(std::bit_cast<std::uint64_t>(value));
    } else {
      T::fields(*this, value);
    }
  }
  template <class A, class B>
  void put(const std::pair<A, B>& both) {
    put(both.first);
    put(both.second);
  }
  template <class T>
  void put(const std::vector<T>& values) {
    put(static_cast<std::uint32_t>(values.size()));
    for (const T& value : values) put(value);
  }

  std::string out_;
};

class Decoder {
 public:
  explicit Decoder(std::string_view in) : in_(in) {}

  template <class... T>
  void operator()(T&... values) {
    (get(values), ...);
  }
  bool finished() const { return ok_ && in_.empty(); }

 private:
  void get(std::string& value) {
    std::uint32_t size = 0;
    get(size);
    if (!ok_ || size > in_.size()) {
      ok_ = false;
      return;
    }
    value.assign(in_.substr(0, size));
    in_.remove_prefix(size);
  }
  template <class T>
  void get(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      value = get_integer<std::uint8_t>(1) != 0;
    } else if constexpr (std::is_enum_v<T>) {
      value = static_cast<T>(get_integer<std::uint8_t>(static_cast<std::uint8_t>(last(T{}))));
    } else if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(get_integer<std::make_unsigned_t<T>>(static_cast<std::make_unsigned_t<T>>(-1)));
    } else if constexpr (std::is_same_v<T, double>) {
      std::uint64_t bits = 0;
      get(bits);
      value = std::bit_cast<double>(bits);
    } else {
      T::fields(*this, value);
    }
  }
  template <class A, class B>
  void get(std::pair<A, B>& both) {
    get(both.first);
    get(both.second);
  }
  template <class T>
  void get(std::vector<T>& values) {
    std::uint32_t count = 0;
    get(count);
    // No reserve(count): a count is a claim, and every element costs at least one byte that must be there.
    for (std::uint32_t i = 0; i < count && ok_; ++i) {
      if (in_.empty())
        ok_ = false;
      else
        get(values.emplace_back());
    }
  }
  template <class U>
  U get_integer(U limit) {
    U value = 0;
    if (in_.size() < sizeof(U)) {
      ok_ = false;
      return 0;
    }
    for (std::size_t i = 0; i < sizeof(U); ++i) {
      value = static_cast<U>(value | static_cast<U>(static_cast<U>(static_cast<unsigned char>(in_[i])) << (8 * i)));
    }
    in_.remove_prefix(sizeof(U));
    if (value > limit) ok_ = false;
    return ok_ ? value : U{0};
  }

  std::string_view in_;
  bool ok_ = true;
};

template <class T>
std::string encode(const T& value) {
  Encoder encoder;
  T::fields(encoder, value);
  return encoder.take();
}

template <class T>
Result<T> decode(std::string_view payload) {
  T value;
  Decoder decoder(payload);
  T::fields(decoder, value);
  if (!decoder.finished()) return fail(Errc::protocol, "a message does not have the form its type says");
  return value;
}

}  // namespace cove::proto
