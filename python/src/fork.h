#pragma once

#include <memory>
#include <utility>

#include "status.h"

namespace timelake::python {

// Counts the forks that this process descends from.
int ForkGeneration();

// An object of the core as Python holds it. After a fork the child has the memory of its parent
// but neither its threads nor, perhaps, its locks in a sane state: there `get` refuses, and the
// object is left alone for good (its destructor could wait for a thread that does not exist).
template <typename T>
class Owned {
 public:
  Owned() = default;
  explicit Owned(std::shared_ptr<T> object) : object_(std::move(object)) {}
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { Drop(); }

  // Throws when closed or inherited; `what` as in "this Lake".
  const std::shared_ptr<T>& get(const char* what) const;
  bool inherited() const { return generation_ != ForkGeneration(); }
  bool empty() const { return !object_; }
  std::shared_ptr<T> Release() { return std::move(object_); }
  void Drop() {
    if (object_ && inherited()) new std::shared_ptr<T>(std::move(object_));
    object_.reset();
  }

 private:
  std::shared_ptr<T> object_;
  int generation_ = ForkGeneration();
};

[[noreturn]] void ThrowInherited(const char* what);
[[noreturn]] void ThrowClosed(const char* what);

template <typename T>
const std::shared_ptr<T>& Owned<T>::get(const char* what) const {
  if (inherited()) ThrowInherited(what);
  if (!object_) ThrowClosed(what);
  return object_;
}

void BindFork(nb::module_& m);

}  // namespace timelake::python
