# SPDX-License-Identifier: Apache-2.0
# damage.py PEET PROGRAM OFFSET SIZE EVERY: bytes all over the schema, which lies at OFFSET, set to a few values, and pairs of bytes somewhere,
# chosen by a fixed rule; of these, each EVERYth.  Each is noticed by `peet schema`: status 1 or 2, and a message that names the file.
import re, subprocess, sys

peet, program = sys.argv[1:3]
offset, size, every = map(int, sys.argv[3:])
whole = open(program, "rb").read()
made = tried = 0

def notices(what, changes):
    """changes: by their place in the schema, what is written there"""
    global made, tried
    made += 1
    if made % every:
        return
    tried += 1
    broken = bytearray(whole)
    for at, byte in changes.items():
        broken[offset + at] = byte
    open("broken", "wb").write(broken)
    done = subprocess.run([peet, "schema", "--json", "broken"], capture_output=True, text=True)
    if done.returncode not in (1, 2) or not re.search("^peet: .*broken", done.stderr, re.MULTILINE):
        sys.exit("FAILED: %s: status %d: %s" % (what, done.returncode, done.stderr))

for at in range(0, size, size // 100 + 1):
    old = whole[offset + at]
    for byte in (0, 255, 128, old ^ 1, old ^ 32):
        if byte != old:
            notices("byte %d set to %d" % (at, byte), {at: byte})
    other = at * 7919 % size
    if other != at:
        notices("bit 2 of bytes %d and %d" % (at, other), {at: old ^ 4, other: whole[offset + other] ^ 4})
print(tried, "damaged, each was refused")
if made < 400 or tried < made // every:
    sys.exit("FAILED: only %d of %d" % (tried, made))
