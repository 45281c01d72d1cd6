import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runAsOrdinaryUser } from '../../support/process/ordinary-user.ts'
import { hasSandbox, sandboxHint, startSandbox, type TestSandbox } from '../../support/tools/sandbox.ts'

const mebibyte = 2 ** 20
const limits = {
  memoryBytes: 128 * mebibyte,
  diskBytes: 32 * mebibyte,
  fileBytes: 16 * mebibyte,
  timeoutMs: 30_000,
  cpuSeconds: 30,
  processes: 48,
}

let sandbox: TestSandbox
beforeAll(async () => {
  if (hasSandbox) sandbox = await startSandbox(limits)
})
afterAll(() => sandbox?.close())

/** What attacks share: each takes what it can get, and stays. */
const frame = (body: string) => `
import ctypes, mmap, os, signal, socket, time
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
piece, size = bytes(2**16), 15 * 2**20
def deleted():
    opened = os.open('a', os.O_RDWR | os.O_CREAT)
    os.unlink('a')
    return opened
def allocated(opened):
    os.posix_fallocate(opened, 0, size)
    return opened
def fill(end):
    end.setblocking(False)
    misses = 0
    while misses < 5:
        try:
            end.send(piece)
            misses = 0
        except BlockingIOError:
            misses += 1
            time.sleep(0.001)
    return end
held = []
${body.trim()}
time.sleep(60)
print('ESCAPED')
`

const memory = /^Ended by the server: the program used more than 128 MB of memory\./
const disk = /^Ended by the server: the program kept more than 32 MB in files, deleted ones included\./

const hidden = /^Ended by the server: the program kept files where they cannot be measured/

const attacks: readonly (readonly [string, string, RegExp])[] = [
  [
    'socket pairs, of several processes',
    `
for _ in range(2): os.fork()
for _ in range(120):
    pair = socket.socketpair()
    for end in pair: end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2**30)
    held.append([fill(end) for end in pair])`,
    memory,
  ],
  [
    'TCP connections',
    `
server = socket.create_server(('127.0.0.1', 0))
for _ in range(60):
    held.append(fill(socket.create_connection(server.getsockname())))
    held.append(fill(server.accept()[0]))`,
    memory,
  ],
  [
    'TCP connections that nobody accepts, and whose other end is closed',
    `
server = socket.create_server(('::1', 0), family=socket.AF_INET6, backlog=4096)
for _ in range(200): fill(socket.create_connection(server.getsockname()[:2])).close()`,
    memory,
  ],
  [
    'connections that nobody accepts, and whose other end is closed',
    `
server = socket.socket(socket.AF_UNIX)
server.bind('\\0server')
server.listen(4096)
for _ in range(1000):
    client = socket.socket(socket.AF_UNIX)
    client.connect('\\0server')
    fill(client).close()`,
    memory,
  ],
  [
    'datagrams whose sender is closed',
    `
for number in range(200):
    held.append(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
    held[-1].bind(f'\\0{number}')
    for _ in range(11):
        sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        sender.setblocking(False)
        try: sender.sendto(bytes(190_000), f'\\0{number}')
        except BlockingIOError: pass
        sender.close()`,
    memory,
  ],
  ['deleted files', 'for _ in range(40): held.append(allocated(deleted()))', disk],
  ['files that never had a name', 'for _ in range(40): held.append(allocated(os.open(".", os.O_RDWR | os.O_TMPFILE)))', disk],
  [
    'deleted files that children write, which nobody waits for',
    `
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for _ in range(30):
    held.append(deleted())
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(held[-1], bytes(size))
        os.fsync(held[-1])
        os._exit(0)
    os.close(write)
    os.read(read, 1)`,
    disk,
  ],
  [
    'deleted files in shared memory',
    `
for _ in range(7):
    opened = deleted()
    os.ftruncate(opened, size)
    held.append(mmap.mmap(opened, size))
    os.close(opened)
    for at in range(0, size, 4096): held[-1][at] = 1`,
    disk,
  ],
  [
    'deleted files that are only mapped, and of those one page',
    `
for _ in range(40):
    opened = allocated(deleted())
    libc.mmap(None, 4096, mmap.PROT_READ, mmap.MAP_SHARED, opened, 0)
    os.close(opened)`,
    disk,
  ],
  [
    'deleted files of a process that may not be read',
    'libc.prctl(4, 0)\nfor _ in range(40): held.append(allocated(deleted()))',
    // Root reads it all the same.
    new RegExp(`${disk.source}|${hidden.source}`),
  ],
  [
    'deleted programs that run',
    `
for _ in range(4):
    with open('/usr/bin/sleep', 'rb') as program: code = program.read()
    with open('run', 'wb') as copy: copy.write(code.ljust(size, b'x'))
    os.chmod('run', 0o700)
    os.spawnl(os.P_NOWAIT, './run', './run', '60')
    time.sleep(0.02)
    os.unlink('run')`,
    disk,
  ],
  [
    'deleted files that are sent, and never received',
    `
for number in range(40):
    if number % 8 == 0: held.append(socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM))
    opened = allocated(deleted())
    socket.send_fds(held[-1][0], [b'x'], [opened])
    os.close(opened)`,
    hidden,
  ],
  [
    'room behind the end of a file',
    `
if libc.fallocate(deleted(), 1, ctypes.c_long(0), ctypes.c_long(300 * 2**20)) < 0:
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))`,
    /^Exit code 1:[\s\S]*Operation not supported/,
  ],
  [
    'pages of memory in pipes, which keep more than they count',
    `
if libc.vmsplice(os.pipe()[1], None, 0, 0) < 0: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))`,
    /^Exit code 1:[\s\S]*Operation not permitted/,
  ],
  [
    'sockets of a protocol that tells nothing of its memory',
    'socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)',
    /^Exit code 1:[\s\S]*Protocol not supported/,
  ],
]

describe.skipIf(!hasSandbox)(`a program is held to its limits, though no process shows it, with${sandboxHint}`, () => {
  test.each(attacks)('%s', async (name, body, expected) => {
    const { text } = await sandbox.python(frame(body), { session: { principalId: 'key', id: name } })
    expect(text).toMatch(expected)
    expect(text).not.toContain('ESCAPED')
  })
})

test.skipIf(!hasSandbox || process.getuid?.() !== 0)('a server of an ordinary user holds them, too', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-sandbox-'))
  try {
    const options = { python: { ...limits, runtime: 'bubblewrap' }, folder: join(folder, 'own'), idleMs: 60_000 }
    const script = `const { SandboxTools } = await import('./dist/tools/sandbox/sandbox-tools.js')
const box = new SandboxTools(${JSON.stringify(options)})
const { tools: [tool] } = await box.list()
const texts = []
for (const code of ${JSON.stringify(attacks.map(([, body]) => frame(body)))})
  texts.push((await tool.run({ arguments: { code }, session: { principalId: 'a', id: code }, signal: new AbortController().signal })).text)
console.log(JSON.stringify(texts))
await box.close()`
    const said = JSON.parse(runAsOrdinaryUser(folder, script)) as string[]
    for (const [index, [, , expected]] of attacks.entries()) expect(said[index]).toMatch(expected)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})

test.skipIf(!hasSandbox)(`what programs do with sockets and deleted files all the time works${sandboxHint}`, async () => {
  const code = `
import asyncio, multiprocessing, os, tempfile
async def echo():
    async def serve(reader, writer):
        writer.write(await reader.read(5))
        writer.close()
    server = await asyncio.start_server(serve, '127.0.0.1', 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write(b'hello')
    return await reader.read()
if __name__ == '__main__':
    print(asyncio.run(echo()))
    for kind in ('fork', 'spawn', 'forkserver'):
        with multiprocessing.get_context(kind).Pool(2) as pool: print(kind, pool.map(abs, [-1, 2]))
    with multiprocessing.Manager() as manager: print(manager.list([1]))
    with tempfile.TemporaryFile() as file:
        os.posix_fallocate(file.fileno(), 0, 10**6)
        print(os.fstat(file.fileno()).st_size)
`
  const { text } = await sandbox.python(code)
  expect(text).toBe("b'hello'\nfork [1, 2]\nspawn [1, 2]\nforkserver [1, 2]\n[1]\n1000000\n")
})
