# SPDX-License-Identifier: Apache-2.0
# Whoever asks for processors is told of the simulated machine's, and of the one that the thread is on there.
. "$(dirname "$0")/lib.sh"
cat >processors.cpp <<'END'
#include <cstdint>
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <iostream>
#include <sched.h>
#include <string>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <thread>
#include <unistd.h>
/* The C library's record says nothing, as if the kernel knew no such, and none can be registered. */
static bool says_nothing()
{
    static thread_local struct rseq mine;
    const auto *record = reinterpret_cast<struct rseq *>(static_cast<char *>(__builtin_thread_pointer()) + __rseq_offset);
    return static_cast<int32_t>(record->cpu_id) < 0 && record->cpu_id_start == 0 &&
        syscall(SYS_rseq, &mine, sizeof mine, 0, 0x53053053) == -1;
}
int main()
{
    const std::string folder = "/sys/devices/system/cpu/";
    unsigned here = 99;
    bool nothing = says_nothing();
    std::thread([&] { nothing = nothing && says_nothing(); }).join();
    syscall(SYS_getcpu, &here, nullptr, nullptr);
    std::cout << get_nprocs() << ' ' << std::thread::hardware_concurrency() << ' ' << (here == static_cast<unsigned>(sched_getcpu())) << nothing;
    for (const char *name : {"online", "possible", "present"}) {
        std::ifstream in(folder + name);
        std::string line, more;
        char bytes[64] = {0};
        const int fd = open((folder + name).c_str(), O_RDONLY);
        std::getline(in, line);
        const bool same = read(fd, bytes, sizeof bytes - 1) > 0 && line + "\n" == bytes && !std::getline(in, more);
        close(fd);
        std::cout << ' ' << line << (same ? "" : " differs");
    }
    std::cout << std::endl;
}
END
must "$peetcc++" -O1 -pthread -o processors processors.cpp
for foreign in record ranges off; do
    for cores in 1 3 40; do
        list=0
        [ $cores = 1 ] || list=0-$((cores - 1))
        must "$peet" run -q --cores $cores --foreign=$foreign -d out -- ./processors >got
        equal "with $cores processors, $foreign" "$(cat got)" "$cores $cores 11 $list $list $list"
    done
done
exit 0
