// Arrays that a loop allocates and returns to Python.
#pragma once

#include <memory>

#include "arrays.hpp"
#include "spare.hpp"

template <class T>
struct Made {
  struct Put {
    void operator()(T* values) const noexcept { Spare::put(values); }
  };
  std::unique_ptr<T[], Put> values;  // not initialized
  u64 size;

  explicit Made(u64 size) : values(static_cast<T*>(Spare::get(size * sizeof(T)))), size(size) {}
  T* data() { return values.get(); }
  T& operator[](i64 place) { return values[static_cast<u64>(place)]; }
};

template <class T, int DIMENSIONS = 1>
using Array = nb::ndarray<nb::numpy, T, nb::ndim<DIMENSIONS>>;

template <class T, class... Shape>
Array<T, sizeof...(Shape)> returned(Made<T>&& made, Shape... shape) {  // needs the interpreter lock
  T* data = made.values.get();
  nb::capsule owner(data, [](void* values) noexcept { Spare::put(values); });
  made.values.release();
  return {data, {shape...}, owner};
}

template <class T>
Array<T> returned(Made<T>&& made) {
  const u64 size = made.size;
  return returned(std::move(made), size);
}

// A column of a length that was not known before; needs the interpreter lock.
template <class T>
Array<T> to_numpy(std::vector<T>&& column) {
  auto* owned = new std::vector<T>(std::move(column));
  nb::capsule owner(owned, [](void* memory) noexcept { delete static_cast<std::vector<T>*>(memory); });
  return Array<T>(owned->data(), {owned->size()}, owner);
}
