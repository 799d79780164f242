// NamedList: order, replacement and removal, on both sides of the length at which it is indexed.
#include "ir/NamedList.h"

#include "test/Catch.h"

using namespace qfx;

static std::string name(int i) { return "n" + std::to_string(i); }

TEST_CASE("a named list keeps the order of first setting", "[ir]") {
  for (int count : {3, 100}) {
    NamedList<int> list;
    for (int i = 0; i < count; ++i)
      list.set(name(i), i);
    list.set(name(1), -1);
    int position = 0;
    for (const auto &[key, value] : list) {
      CHECK(key == name(position));
      CHECK(value == (position == 1 ? -1 : position));
      ++position;
    }
    CHECK(position == count);
    CHECK_FALSE(list.find("absent"));
    CHECK_FALSE(list.find(""));
  }
}

TEST_CASE("entries of a named list are removed, and come back at the end", "[ir]") {
  for (int count : {3, 100}) {
    NamedList<int> list;
    for (int i = 0; i < count; ++i)
      list.set(name(i), i);
    list.remove(list.front().first);
    list.remove("absent");
    CHECK(list.size() == static_cast<size_t>(count - 1));
    CHECK_FALSE(list.find(name(0)));
    list.set(name(0), 7);
    CHECK(list.front().first == name(1));
    CHECK(*list.find(name(0)) == 7);
    for (int i = 0; i < count; ++i)
      list.remove(name(i));
    CHECK(list.empty());
    list.set("again", 1);
    CHECK(*list.find("again") == 1);
  }
}

TEST_CASE("copies of a named list are their own", "[ir]") {
  for (int count : {3, 100}) {
    NamedList<int> list;
    for (int i = 0; i < count; ++i)
      list.set(name(i), i);
    NamedList<int> copy = list;
    list.set(name(0), 7);
    list.remove(name(1));
    CHECK(*copy.find(name(0)) == 0);
    CHECK(*copy.find(name(1)) == 1);
    NamedList<int> moved = std::move(copy);
    moved.set("last", 2);
    CHECK(*moved.find(name(2)) == 2);
    CHECK(*moved.find("last") == 2);
  }
}
