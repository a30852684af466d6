// Stable sorting of short lists of rows by their 64-bit order.
#pragma once

#include <array>
#include <utility>

#include "lattice.hpp"

constexpr std::size_t FEW_ROWS = 48;    // sorted by insertion
constexpr std::size_t SOME_ROWS = 512;  // nearly sorted by two bytes, more by three
constexpr std::size_t MOVES = 8;        // per row, from which on rows are not nearly sorted

// Returns whether the rows are sorted, or false after too many moves.
template <class Row>
bool insertion_sort(std::vector<Row>& rows, std::size_t most_moves) {
  std::size_t moves = 0;
  for (std::size_t i = 1; i < rows.size() && moves <= most_moves; i++) {
    const Row row = rows[i];
    std::size_t place = i;
    for (; place && rows[place - 1].order > row.order; place--) rows[place] = rows[place - 1];
    rows[place] = row;
    moves += i - place;
  }
  return moves <= most_moves;
}

// Radix sort by some bytes, the least significant first.
template <class Row>
void sort_by_bytes(std::vector<Row>& rows, std::vector<Row>& spare, int first_bit, int bytes) {
  spare.resize(rows.size());
  for (int bit = first_bit; bit < first_bit + 8 * bytes && bit < 64; bit += 8) {
    std::array<u32, 256> places = {};
    for (const Row& row : rows) places[row.order >> bit & 255]++;
    u32 before = 0;
    for (u32& place : places) before += std::exchange(place, before);
    for (const Row& row : rows) spare[places[row.order >> bit & 255]++] = row;
    rows.swap(spare);
  }
}

// The highest bytes in which rows differ nearly sort most lists, and insertion does the rest.
template <class Row>
void sort_rows(std::vector<Row>& rows, std::vector<Row>& spare) {
  if (rows.size() < FEW_ROWS) {
    insertion_sort(rows, SIZE_MAX);
    return;
  }
  u64 differing = 0;
  for (const Row& row : rows) differing |= row.order ^ rows.front().order;
  const int bits = bit_length(static_cast<i64>(differing)), bytes = rows.size() < SOME_ROWS ? 2 : 3;
  sort_by_bytes(rows, spare, std::max(0, bits - 8 * bytes), bytes);
  if (!insertion_sort(rows, MOVES * rows.size())) sort_by_bytes(rows, spare, 0, (bits + 7) / 8);
}
