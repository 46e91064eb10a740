# SPDX-License-Identifier: Apache-2.0
# traces.py FUZZER SECONDS PEET: seeds a corpus with small traces, parts of them and their frames, whole and with records cut off anywhere, then fuzzes the
# readers of traces for a bounded time.
import os, random, shutil, struct, subprocess, sys, tempfile

fuzzer, seconds, peet = sys.argv[1:]
random.seed(3)

def lackey(path, instructions):
    """A trace of another tool's: it holds no program, so that it is small."""
    with open(path, "w") as out:
        pc = 0x400000
        for _ in range(instructions):
            out.write("I  %08x,%d\n" % (pc, random.choice((1, 3, 4, 7))))
            if random.random() < 0.5:
                out.write(" %s %08x,%d\n" % (random.choice("LSM"), 0x200000 + random.randrange(4096) * 8, random.choice((1, 4, 8))))
            pc += 4 if random.random() < 0.9 else -4 * random.randrange(20)

def frames(trace):
    """What its frames hold."""
    at = 16
    while shutil.which("zstd") and at + 24 <= len(trace):
        tag, head, compressed = struct.unpack_from("<3I", trace, at)
        if head != 16 or tag == 0x184D2A53:
            return
        at += 24 + compressed
        yield subprocess.run(["zstd", "-dcq"], input=trace[at - compressed:at], capture_output=True).stdout

with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    os.mkdir("corpus")
    seeds = []
    for instructions in (20, 80, 320, 1280):
        lackey("a.lackey", instructions)
        subprocess.run([peet, "trace", "convert", "--to", "peet", "--from", "lackey", "a.lackey", "a.peet"], check=True)
        traces = ["a.peet"]
        for number, part in enumerate((["--instructions", "5-%d" % (instructions // 2)], ["--cycles", "3-%d" % (instructions // 2)])):
            if subprocess.run([peet, "trace", "cut", *part, "a.peet", "%d.peet" % number], capture_output=True).returncode == 0:
                traces.append("%d.peet" % number)
        for name in traces:
            trace = open(name, "rb").read()
            seeds += [b"\x05" + trace] + [b"\x05" + trace[:random.randrange(len(trace))] for _ in range(8)]
            for frame in frames(trace):
                seeds += [b"\x04" + frame] + [b"\x04" + frame[:random.randrange(len(frame) + 1)] for _ in range(4)]
    assert len(seeds) > 60, len(seeds)
    for number, seed in enumerate(seeds):
        open("corpus/%d" % number, "wb").write(seed)
    sys.exit(subprocess.run([fuzzer, "-seed=1", "-max_total_time=" + seconds, "-timeout=10", "-rss_limit_mb=2048", "-max_len=16384",
        "-print_final_stats=1", "-artifact_prefix=" + os.path.dirname(fuzzer) + "/", "corpus"]).returncode)
