# SPDX-License-Identifier: Apache-2.0
# C++: names with their namespaces and classes, new and new[], containers, whose memory is named after the object.
. "$(dirname "$0")/lib.sh"
cat >objects.cc <<'END'
#include <list>
#include <map>
#include <string>
#include <vector>
namespace shop {
struct item { volatile int price; volatile double weight; };
volatile int total[5];
class desk {
public:
    static volatile long opened;
    item *drawer;
    desk() { drawer = new item[6]; }
    ~desk() { delete[] drawer; }
    void sell() { drawer[2].price = 3; }
};
volatile long desk::opened;
namespace inner { static volatile int deep; }
}
template <class T> struct box { static volatile T content; };
template <class T> volatile T box<T>::content;
std::vector<shop::item> stock;
__attribute__((noinline)) int count() { static volatile int calls; calls = 1; return 0; }
__attribute__((noinline)) void fill(std::vector<shop::item> &where) { for (int i = 0; i < 9; i++) where.push_back(shop::item()); }
int main()
{
    shop::total[3] = 1;
    shop::desk::opened = 1;
    shop::inner::deep = 1;
    box<short>::content = 1;
    shop::desk *d = new shop::desk;
    d->sell();
    auto *single = new shop::item;
    single->weight = 2;
    stock.reserve(100);
    stock.resize(10);
    for (int i = 0; i < 10; i++) stock[i].price = i;
    std::vector<shop::item> local;
    fill(local);
    std::map<int, shop::item> index;
    index[5].price = 3;
    std::list<long> numbers;
    numbers.push_back(7);
    std::string text(100, 'x');
    count();
    delete single;
    delete d;
    return 0;
}
END
for flags in -O0 -O1 -O2; do
    must "$peetcxx" $flags -g -o objects objects.cc
    observe out -- ./objects
    has out global 'shop::total' type 'volatile int' references 1
    has out global 'shop::desk::opened' references 1
    has out global 'shop::inner::deep' references 1
    has out global 'box<short>::content' type 'volatile short' references 1
    has out global calls function count references 1
    has out heap drawer function 'shop::desk::desk' type 'shop::item' element 16 objects 1 live 0
    has out heap single type 'shop::item' objects 1 live 0
    has out heap d type 'shop::desk' objects 1 live 0
    has out heap stock type 'shop::item' function main objects 1 live 0 bytes 1600
    has out heap where type 'shop::item' function fill live 0
    has out heap numbers function main objects 1 bytes 24
    has out heap index objects 1
    has out heap text bytes 101
done
must "$peetcxx" -O2 -o objects objects.cc
observe symbols -- ./objects
has symbols global 'shop::total' bytes 20 references 1
has symbols global 'shop::desk::opened' references 1
has symbols global 'box<short>::content' references 1
has symbols global calls function 'count()' references 1
