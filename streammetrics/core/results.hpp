// Arrays that a loop allocates and returns to Python.
#pragma once

#include <memory>

#include "arrays.hpp"

template <class T>
struct Made {
  std::unique_ptr<T[]> values;  // not initialized
  u64 size;

  explicit Made(u64 size) : values(new T[size]), size(size) {}
  T* data() { return values.get(); }
  T& operator[](i64 place) { return values[static_cast<u64>(place)]; }
};

template <class T>
using Array = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

template <class T>
Array<T> returned(Made<T>&& made) {  // needs the interpreter lock
  T* data = made.values.release();
  nb::capsule owner(data, [](void* pointer) noexcept { delete[] static_cast<T*>(pointer); });
  return Array<T>(data, {made.size}, owner);
}
