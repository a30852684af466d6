// Memory of large arrays that were freed, for the next ones: pages that are new to the process cost more than the loops
// that fill them.
#pragma once

#include <cstdlib>
#include <map>
#include <mutex>
#include <new>

#include "arrays.hpp"

class Spare {
  static constexpr u64 LARGE = 1 << 16, MOST = 64 << 20;  // bytes of an array that is kept, and of all of them
  static constexpr u64 HEAD = 64;                         // bytes before an array, which hold its size
  std::mutex lock;
  std::multimap<u64, char*> arrays;  // by size
  u64 total = 0;

  static Spare& all() {
    static Spare* spare = new Spare;  // never destroyed: arrays can be freed when the process ends
    return *spare;
  }

  // An array of at least this size, null if there is none. A lock that a forked process inherited stays locked.
  char* find(u64 size) {
    const std::unique_lock<std::mutex> locked(lock, std::try_to_lock);
    if (!locked) return nullptr;
    const auto found = arrays.lower_bound(size);
    if (found == arrays.end() || found->first > 2 * size) return nullptr;
    char* array = found->second;
    total -= found->first;
    arrays.erase(found);
    return array;
  }

  bool keep(char* array, u64 size) {
    const std::unique_lock<std::mutex> locked(lock, std::try_to_lock);
    if (!locked || total + size > MOST) return false;
    arrays.emplace(size, array);
    total += size;
    return true;
  }

 public:
  static void* get(u64 size) {
    if (size >= LARGE)
      if (char* array = all().find(size)) return array + HEAD;
    char* array = static_cast<char*>(std::malloc(size + HEAD));
    if (!array) throw std::bad_alloc();
    *reinterpret_cast<u64*>(array) = size;
    return array + HEAD;
  }

  static void put(void* values) noexcept {
    char* array = static_cast<char*>(values) - HEAD;
    const u64 size = *reinterpret_cast<u64*>(array);
    try {
      if (size >= LARGE && all().keep(array, size)) return;
    } catch (const std::bad_alloc&) {
    }
    std::free(array);
  }
};
