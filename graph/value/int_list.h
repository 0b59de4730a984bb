// A short list of integers: the sizes of a shape, where a box begins, a stride.
//
// Used like std::vector<int64_t>, but up to four integers lie in the object itself: graphs are made of such lists, and
// compiling a graph copies very many. (absl::InlinedVector leaves its storage uninitialised, and gcc 12 warns at each
// move.)
#ifndef PARTITA_GRAPH_VALUE_INT_LIST_H_
#define PARTITA_GRAPH_VALUE_INT_LIST_H_

#include <algorithm>
#include <compare>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <utility>

namespace partita {

class IntList {
 public:
  using value_type = int64_t;
  using size_type = size_t;
  using difference_type = std::ptrdiff_t;
  using reference = int64_t&;
  using const_reference = const int64_t&;
  using iterator = int64_t*;
  using const_iterator = const int64_t*;

  IntList() = default;
  explicit IntList(size_t size, int64_t value = 0) { resize(size, value); }
  IntList(std::initializer_list<int64_t> values) : IntList(values.begin(), values.end()) {}
  template <std::forward_iterator Iterator>
  IntList(Iterator first, Iterator last) {
    assign(first, last);
  }
  IntList(const IntList& other) { Copy(other.data_, other.size_); }
  IntList(IntList&& other) noexcept { Take(other); }
  ~IntList() { Free(); }

  IntList& operator=(const IntList& other) {
    if (this != &other) Copy(other.data_, other.size_);
    return *this;
  }
  IntList& operator=(IntList&& other) noexcept {
    if (this == &other) return *this;
    Free();
    Take(other);
    return *this;
  }
  template <std::forward_iterator Iterator>
  void assign(Iterator first, Iterator last) {
    size_ = 0;
    Grow(static_cast<size_t>(std::distance(first, last)));
    for (; first != last; ++first) data_[size_++] = *first;
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  int64_t* data() { return data_; }
  const int64_t* data() const { return data_; }
  int64_t* begin() { return data_; }
  int64_t* end() { return data_ + size_; }
  const int64_t* begin() const { return data_; }
  const int64_t* end() const { return data_ + size_; }
  auto rbegin() const { return std::make_reverse_iterator(end()); }
  auto rend() const { return std::make_reverse_iterator(begin()); }
  int64_t& operator[](size_t i) { return data_[i]; }
  const int64_t& operator[](size_t i) const { return data_[i]; }
  int64_t& front() { return data_[0]; }
  const int64_t& front() const { return data_[0]; }
  int64_t& back() { return data_[size_ - 1]; }
  const int64_t& back() const { return data_[size_ - 1]; }

  void clear() { size_ = 0; }
  void reserve(size_t size) { Grow(size); }
  void resize(size_t size, int64_t value = 0) {
    Grow(size);
    if (size > size_) std::fill(data_ + size_, data_ + size, value);
    size_ = static_cast<uint32_t>(size);
  }
  void push_back(int64_t value) {
    if (size_ == capacity_) Grow(2 * size_t{capacity_});
    data_[size_++] = value;
  }
  void pop_back() { --size_; }
  int64_t* insert(const int64_t* position, int64_t value) {
    const std::ptrdiff_t at = position - data_;
    push_back(value);
    std::rotate(data_ + at, end() - 1, end());
    return data_ + at;
  }
  int64_t* erase(const int64_t* position) {
    int64_t* const at = data_ + (position - data_);
    std::copy(at + 1, end(), at);
    --size_;
    return at;
  }

  bool operator==(const IntList& other) const { return std::equal(begin(), end(), other.begin(), other.end()); }
  auto operator<=>(const IntList& other) const {
    return std::lexicographical_compare_three_way(begin(), end(), other.begin(), other.end());
  }

 private:
  static constexpr uint32_t kInside = 4;

  // Room for `size` integers; keeps what is there.
  void Grow(size_t size) {
    if (size <= capacity_) return;
    auto* const grown = new int64_t[size];
    std::copy(data_, data_ + size_, grown);
    Free();
    data_ = grown;
    capacity_ = static_cast<uint32_t>(size);
  }
  void Copy(const int64_t* from, uint32_t size) {
    size_ = 0;
    Grow(size);
    std::copy(from, from + size, data_);
    size_ = size;
  }
  // From a list that owns no memory; `other` becomes empty.
  void Take(IntList& other) {
    const bool outside = other.data_ != other.inside_;
    if (!outside) std::copy(other.inside_, other.inside_ + kInside, inside_);
    data_ = outside ? std::exchange(other.data_, other.inside_) : inside_;
    capacity_ = std::exchange(other.capacity_, kInside);
    size_ = std::exchange(other.size_, 0);
  }
  void Free() {
    if (data_ != inside_) delete[] data_;
  }

  int64_t* data_ = inside_;
  uint32_t size_ = 0;
  uint32_t capacity_ = kInside;
  int64_t inside_[kInside] = {};
};

}  // namespace partita

#endif  // PARTITA_GRAPH_VALUE_INT_LIST_H_
