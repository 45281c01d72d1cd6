import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasSandbox, sandboxHint, startSandbox, type TestSandbox } from '../../support/tools/sandbox.ts'

/** It stands in files, in the environment and behind sockets of the server: a program that prints it has come out. */
const secret = randomBytes(12).toString('hex')
const other = { principalId: 'other key', id: 'session' }

let sandbox: TestSandbox
let outside: string
const servers: Server[] = []
let visits = 0
let port = 0

async function listen(target: object): Promise<Server> {
  const server = createServer((socket) => {
    visits++
    socket.on('error', () => undefined).end(secret)
  })
  await new Promise<void>((resolve) => server.listen(target, resolve))
  servers.push(server)
  return server
}

beforeAll(async () => {
  if (!hasSandbox) return
  process.env.DRAGOMAN_SANDBOX_TEST = secret
  outside = mkdtempSync(join(tmpdir(), 'dragoman-outside-'))
  // Open to everyone on this machine: only the sandbox is between a program and these.
  chmodSync(outside, 0o777)
  writeFileSync(join(outside, 'key'), secret)
  mkdirSync(join(outside, 'open'), { mode: 0o777 })
  chmodSync(join(outside, 'open'), 0o777)
  sandbox = await startSandbox()
  await sandbox.bash(`echo ${secret} > notes; echo ${secret} > plot.png; chmod 777 . notes plot.png`, { session: other })
  const address = (await listen({ port: 0, host: '::' })).address()
  port = typeof address === 'object' && address !== null ? address.port : 0
  await listen({ path: join(outside, 'socket') })
  chmodSync(join(outside, 'socket'), 0o777)
  await listen({ path: `\0dragoman-${secret.slice(0, 8)}` })
})
afterAll(async () => {
  delete process.env.DRAGOMAN_SANDBOX_TEST
  for (const server of servers) server.close()
  await sandbox?.close()
  if (outside !== undefined) rmSync(outside, { recursive: true, force: true })
})

/** What an attempt can name of this machine. */
type EscapeTarget = { readonly outside: string; readonly port: number; readonly address: string; readonly sessions: string }

const place = (): EscapeTarget => ({
  outside,
  port,
  address:
    Object.values(networkInterfaces())
      .flatMap((all) => all ?? [])
      .find(({ internal, family }) => !internal && family === 'IPv4')?.address ?? '127.0.0.1',
  sessions: sandbox.folder,
})

/** An attempt in Python returns what it has got; nothing and errors mean that it is held. */
const frame = (body: string) => `
import ctypes, errno, fcntl, glob, mmap, os, resource, signal, socket, stat, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *args):
    result = getattr(libc, name)(*args)
    if result < 0: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return f'{name} gave {result}'
def connect(family, address, kind=socket.SOCK_STREAM):
    with socket.socket(family, kind) as opened:
        opened.settimeout(2)
        opened.connect(address)
        opened.sendall(b'x')
        return opened.recv(100) or 'connected'
def read(path):
    with open(path, 'rb') as file: return file.read(100)
def write(path):
    with open(path, 'ab') as file: file.write(b'x')
    return f'wrote {path}'
def attempt():
${body
  .trim()
  .split('\n')
  .map((line) => `    ${line}`)
  .join('\n')}
try: got = attempt()
except (OSError, ValueError, subprocess.SubprocessError) as error: got = None; print('refused:', error)
print(f'ESCAPED {got}' if got else 'HELD')
`

type Attempt = readonly [string, string | ((place: EscapeTarget) => string)]

const inPython: Readonly<Record<string, readonly Attempt[]>> = {
  network: [
    ['loopback of the machine', ({ port }) => `return connect(socket.AF_INET, ('127.0.0.1', ${port}))`],
    ['loopback in IPv6', ({ port }) => `return connect(socket.AF_INET6, ('::1', ${port}))`],
    ['an address of the machine', ({ port, address }) => `return connect(socket.AF_INET, ('${address}', ${port}))`],
    [
      'a datagram to the machine',
      ({ port, address }) => `return connect(socket.AF_INET, ('${address}', ${port}), socket.SOCK_DGRAM)`,
    ],
    [
      'another interface than loopback',
      `return [name for name in os.listdir('/proc/sys/net/ipv4/conf') if name not in ('all', 'default', 'lo') and read('/proc/net/route').count(b'\\n') > 1]`,
    ],
    ['a raw socket', 'return socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)'],
    ['a packet socket', 'return socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)'],
    ['a netlink socket', 'return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)'],
    ['a socket to virtual machines', 'return socket.socket(40, socket.SOCK_STREAM)'],
    [
      'a socket to the cryptography of the kernel',
      "return socket.socket(38, socket.SOCK_SEQPACKET).bind(('hash', 'sha256')) or 'bound'",
    ],
    ['a socket in a folder of the machine', ({ outside }) => `return connect(socket.AF_UNIX, '${outside}/socket')`],
    ['an abstract socket of the machine', `return connect(socket.AF_UNIX, '\\0dragoman-${secret.slice(0, 8)}')`],
    [
      'services of the machine',
      "return [path for path in ('/run/dbus/system_bus_socket', '/var/run/docker.sock', '/run/podman/podman.sock', '/run/systemd') if os.path.exists(path)]",
    ],
    [
      'a socket among what it was given',
      'return [number for number in range(3, 256) if os.path.exists(f"/proc/self/fd/{number}") and stat.S_ISSOCK(os.fstat(number).st_mode)]',
    ],
    [
      'anything but a pipe and nothing among what it was given',
      'return [number for number in (0, 1, 2) if stat.S_ISSOCK(os.fstat(number).st_mode)] + os.listdir("/proc/self/fd")[4:]',
    ],
  ],
  files: [
    ['a file of the server', ({ outside }) => `return read('${outside}/key')`],
    ['a file of the server through the root of the first process', ({ outside }) => `return read('/proc/1/root${outside}/key')`],
    [
      'a file of the server through a link',
      ({ outside }) => `os.path.lexists('way') or os.symlink('${outside}/key', 'way')\nreturn read('way')`,
    ],
    ['a file of the server through its parents', ({ outside }) => `return read('../../../../../../..${outside}/key')`],
    [
      'a file of the server from a handle of the root',
      ({ outside }) => `root = os.open('/', os.O_RDONLY)\nos.fchdir(root)\nreturn read('..${outside}/key')`,
    ],
    ['writing beside a file of the server', ({ outside }) => `return write('${outside}/open/mark')`],
    ['the folder of all sessions', ({ sessions }) => `return os.listdir('${sessions}')`],
    ['the parent of its folder', "return [name for name in os.listdir('..') if name not in os.listdir('/')]"],
    ['the file of another session', ({ sessions }) => `return [read(path) for path in glob.glob('${sessions}/*/files/notes')]`],
    ['names of what is mounted elsewhere', ({ sessions }) => `return os.listdir('/proc/1/cwd${sessions}')`],
    ['passwords', "return read('/etc/shadow') if os.path.exists('/etc/shadow') else b'daemon' in read('/etc/passwd')"],
    [
      'homes',
      "return [path for path in ('/root', '/home', '/var', '/opt', '/srv', '/mnt', '/boot', '/media') if os.path.exists(path)]",
    ],
    ['keys of the machine', "return glob.glob('/etc/ssh/*') + glob.glob('/etc/ssl/private/*')"],
    ['devices of the machine', "return os.listdir('/sys')"],
    ['changing programs', "return write('/usr/bin/env')"],
    ['adding programs', "return write('/usr/local/bin/mark')"],
    ['changing settings', "return write('/etc/passwd')"],
    ['adding to the root', "return write('/mark')"],
    ['adding devices', "return write('/dev/mark')"],
    ['adding to what the code lies in', "return write('/run/mark')"],
    ['changing its own code', "return write('/run/code.py')"],
    ['a second name for a program', "os.link('/usr/bin/env', 'env')\nreturn 'linked'"],
    ['opening by a handle', 'return call("open_by_handle_at", -100, ctypes.create_string_buffer(128), 0)'],
    ['another root', "os.chroot('/session')\nreturn 'in another root'"],
    ['disks', "return glob.glob('/dev/[sv]d*') + glob.glob('/dev/nvme*') + glob.glob('/dev/mapper/*')"],
    ['a node for a disk', "os.mknod('disk', stat.S_IFBLK | 0o600, os.makedev(254, 0))\nreturn 'made'"],
    ['a node for memory', "os.mknod('memory', stat.S_IFCHR | 0o600, os.makedev(1, 1))\nreturn 'made'"],
    ['memory of the machine', "return read('/dev/mem')"],
    ['memory of the kernel', "return read('/proc/kcore')"],
    ['the log of the kernel', "return call('klogctl', 3, ctypes.create_string_buffer(1000), 1000)"],
    ['what the kernel runs for crashes', "return write('/proc/sys/kernel/core_pattern')"],
    ['keys of the keyboard of the kernel', "return write('/proc/sysrq-trigger')"],
    ['limits in /sys', "return write('/sys/fs/cgroup/cgroup.procs')"],
    ['mounting a file system', "return call('mount', b'none', b'/tmp', b'tmpfs', 0, None)"],
    ['mounting the root for writing', "return call('mount', b'none', b'/', None, 32, None)"],
    ['unmounting its folder', "return call('umount2', b'/proc', 2)"],
    ['changing the root', "return call('pivot_root', b'.', b'.')"],
  ],
  'other processes': [
    ['processes of the machine', "return [pid for pid in os.listdir('/proc') if pid.isdigit() and int(pid) > 20]"],
    [
      'the environment of others',
      `return [path for path in glob.glob('/proc/[0-9]*/environ') if b'${secret.slice(0, 12)}' in read(path)]`,
    ],
    [
      'variables besides its own',
      "return set(os.environ) - {'PATH', 'PWD', 'HOME', 'TMPDIR', 'LANG', 'LC_CTYPE', 'TERM', 'PYTHONIOENCODING', 'PYTHONPATH', 'PYTHONDONTWRITEBYTECODE'}",
    ],
    ['the command line of its start', ({ sessions }) => `return '${sessions}'.encode() in open('/proc/1/cmdline', 'rb').read()`],
    ['tracing the first process', "return call('ptrace', 16, 1, 0, 0)"],
    ['reading memory by a call', "return call('process_vm_readv', 1, None, 0, None, 0, 0)"],
    ['a descriptor of the first process', "return call('syscall', 438, os.pidfd_open(1), 0, 0)"],
    ['ending the server', () => `os.kill(${process.pid}, 9)\nreturn 'sent'`],
    [
      'stopping its parents',
      "for _ in range(3): os.kill(1, signal.SIGSTOP)\nreturn open('/proc/1/status').read().split('State:')[1].split()[0] == 'T'",
    ],
    ['ending its first process', "os.kill(1, signal.SIGKILL)\nreturn not os.path.exists('/proc/1')"],
    ['entering the network of the first process', "return call('setns', os.open('/proc/1/ns/net', os.O_RDONLY), 0)"],
  ],
  rights: [
    ['becoming root', "os.setuid(0)\nreturn 'root'"],
    ['joining the group of root', "os.setgid(0)\nreturn 'root'"],
    ['more groups', "os.setgroups([0])\nreturn 'root'"],
    [
      'programs that become root',
      "return b'uid=0' in subprocess.run(['su', '-c', 'id'], capture_output=True, stdin=subprocess.DEVNULL, timeout=10).stdout",
    ],
    [
      'a program of its own that becomes another',
      "subprocess.run(['cp', '/usr/bin/id', 'me'])\nos.chmod('me', 0o6755)\nreturn b'euid' in subprocess.run(['./me'], capture_output=True).stdout",
    ],
    [
      'capabilities',
      "return [line for line in open('/proc/self/status') if line.startswith('Cap') and line.split()[1].strip('0')]",
    ],
    ['rights by programs that it starts', "return call('prctl', 38, 0, 0, 0, 0)"],
    ['more processes', "resource.setrlimit(resource.RLIMIT_NPROC, (100000, 100000))\nreturn 'raised'"],
    ['more memory', "resource.setrlimit(resource.RLIMIT_DATA, (-1, -1))\nreturn 'raised'"],
    ['larger files', "resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))\nreturn 'raised'"],
    ['core dumps', "resource.setrlimit(resource.RLIMIT_CORE, (1000, 1000))\nreturn 'raised'"],
    ['precedence', 'os.nice(-20)\nreturn os.getpriority(os.PRIO_PROCESS, 0) < 0'],
    ['real time', "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))\nreturn 'real time'"],
    ['memory that is not swapped', "return call('mlockall', 3)"],
    ['a namespace of users', "return call('unshare', 0x10000000)"],
    ['a namespace of mounts', "return call('unshare', 0x20000)"],
    ['a namespace of networks', "return call('unshare', 0x40000000)"],
    ['more user namespaces', "return write('/proc/sys/user/max_user_namespaces')"],
    ['more rights in its own namespace', "return os.write(os.open('/proc/self/uid_map', os.O_WRONLY), b'0 0 1')"],
    ['a key', "return call('syscall', 248 if os.uname().machine == 'x86_64' else 217, b'user', b'name', b'value', 5, -3)"],
    ['programs in the kernel', "return call('syscall', 321 if os.uname().machine == 'x86_64' else 280, 0, None, 0)"],
    ['events of the kernel', "return call('syscall', 298 if os.uname().machine == 'x86_64' else 241, None, 0, -1, -1, 0)"],
    ['rings of the kernel', "return call('syscall', 425, 1, ctypes.create_string_buffer(200))"],
    ['faults in user space', "return call('syscall', 323 if os.uname().machine == 'x86_64' else 282, 1)"],
    ['memory without a process', "return os.memfd_create('memory')"],
    ['shared memory of System V', "return call('shmget', 0, 4096, 0o1600)"],
    ['queues of messages', "return call('msgget', 0, 0o1600)"],
    ['the name of the machine', "socket.sethostname('mark')\nreturn 'named'"],
    ['the clock', "import time\ntime.clock_settime(time.CLOCK_REALTIME, 0)\nreturn 'set'"],
    ['restarting the machine', "return call('reboot', 0x89abcdef)"],
    ['a module of the kernel', "return call('syscall', 313 if os.uname().machine == 'x86_64' else 273, 0, b'', 0)"],
    ['another kernel', "return call('syscall', 246 if os.uname().machine == 'x86_64' else 104, 0, 0, None, 0)"],
    ['swapping', "return call('swapoff', b'/swap')"],
    ['typing into a terminal', "terminal = os.openpty()[1]\nreturn [fcntl.ioctl(terminal, 0x5412, b'x')]"],
    ['the terminal of the server', "return os.open('/dev/tty', os.O_RDWR)"],
  ],
}

describe.skipIf(!hasSandbox)(`a program in Python does not get${sandboxHint}`, () => {
  for (const [group, attempts] of Object.entries(inPython)) {
    describe(group, () => {
      test.each(attempts)('%s', async (_, body) => {
        const code = frame(typeof body === 'string' ? body : body(place()))
        const { text } = await sandbox.python(code)
        expect(text).toMatch(/HELD$/m)
        expect(text).not.toContain('ESCAPED')
        expect(text).not.toContain(secret)
      })
    })
  }

  test.runIf(process.arch === 'x64')('calls of 32 bits, which the filter does not read: it is ended', async () => {
    // mov eax, 20 (getpid); int 0x80; ret
    const code = `import ctypes, mmap
memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
memory.write(bytes([0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0xc3]))
print('ESCAPED', ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))())`
    const { text, exitCode } = await sandbox.python(code)
    expect(text).not.toContain('ESCAPED')
    expect(exitCode).toBe(128 + 31)
  })
})

/** A command prints what it has got; what it writes to standard error says why not. */
const inBash: readonly Attempt[] = [
  ['a file of the server', ({ outside }) => `cat ${outside}/key 2>/dev/null`],
  ['files of the server by search', "find / -xdev -name 'dragoman-outside-*' 2>/dev/null"],
  ['another session', ({ sessions }) => `cat ${sessions}/*/files/notes 2>/dev/null`],
  ['a connection', ({ port }) => `(exec 3<>/dev/tcp/127.0.0.1/${port} && cat <&3) 2>/dev/null`],
  ['the environment of others', `cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n' | grep DRAGOMAN_SANDBOX`],
  ['a namespace of users', 'unshare --user --map-root-user id -u 2>/dev/null'],
  ['the namespaces of the first process', 'nsenter --target 1 --all id -u 2>/dev/null'],
  ['another root', 'chroot / id -u 2>/dev/null'],
  ['a mount', 'mount -t tmpfs none /tmp 2>/dev/null && echo mounted'],
  ['a bind mount', 'mount --bind /usr /session 2>/dev/null && echo mounted'],
  ['a device', 'mknod node b 254 0 2>/dev/null && echo made'],
  ['root by sudo', 'sudo -n id -u 2>/dev/null'],
  [
    'writing outside',
    'for path in / /usr /etc /dev /run /usr/local/lib; do touch $path/mark 2>/dev/null && echo $path; done; true',
  ],
  [
    'parameters of the kernel',
    'for path in $(find /proc/sys -type f -writable 2>/dev/null | head -50); do cat $path > $path 2>/dev/null && echo $path; done; true',
  ],
  ['more processes than allowed', 'ulimit -u unlimited 2>/dev/null && echo raised'],
  ['core dumps', "exec 2>/dev/null; ulimit -c unlimited; bash -c 'kill -SEGV $$'; ls core*"],
  ['a job of the machine', '(echo id | at now || crontab -l || systemctl status || systemd-run id) 2>/dev/null'],
  ['messages to users of the machine', 'echo mark | wall 2>/dev/null; find / -name wtmp -o -name utmp 2>/dev/null'],
  ['firewalls and addresses', '(ip link add mark type dummy && echo made || iptables -L -n) 2>/dev/null'],
]

describe.skipIf(!hasSandbox)(`a command does not get${sandboxHint}`, () => {
  test.each(inBash)('%s', async (_, command) => {
    const { text } = await sandbox.bash(typeof command === 'string' ? command : command(place()))
    expect(text).toMatch(/^(\(no output\)|Exit code \d+:\n?)$/)
  })

  test('the server by ending everything', async () => {
    const { exitCode } = await sandbox.bash('kill -9 -1; kill -9 1; kill -9 $PPID; kill -STOP -1; exit 7')
    expect(exitCode).toBe(7)
    expect((await sandbox.bash('echo fine')).text).toBe('fine\n')
  })
})

test.skipIf(!hasSandbox)('it was never visited, and all that is outside is as it was', () => {
  expect(visits).toBe(0)
  expect(readFileSync(join(outside, 'key'), 'utf8')).toBe(secret)
  expect(readdirSync(join(outside, 'open'))).toEqual([])
})

test.skipIf(!hasSandbox)('what is behind the attempts is there: outside, all of it is had', async () => {
  const { connect } = await import('node:net')
  const said = await new Promise<string>((resolve) => connect(port, '127.0.0.1').setEncoding('utf8').once('data', resolve))
  expect(said).toBe(secret)
  expect((await sandbox.bash('cat notes', { session: other })).text).toBe(`${secret}\n`)
})

describe.skipIf(!hasSandbox)(`the reader of pictures is not led out of a session${sandboxHint}`, () => {
  const picture = (name: string) => sandbox.box.picture({ principalId: 'key', id: 'session' }, name)

  test.each<[string, (place: EscapeTarget) => string]>([
    ['by a link', ({ outside }) => `ln -sf ${outside}/key a.png`],
    ['by a link to another session', ({ sessions }) => `ln -sf ${sessions} b; ln -sf b/a.png a.png`],
    ['by a link to its own memory', () => 'ln -sf /proc/self/environ a.png'],
    ['by a pipe', () => 'rm -f a.png; mkfifo a.png'],
    ['by a socket', () => `rm -f a.png; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("a.png")'`],
    ['by a folder', () => 'rm -f a.png; mkdir a.png'],
  ])('%s', async (_, command) => {
    await sandbox.bash(command(place()))
    await expect(picture('a.png')).rejects.toMatchObject({ code: 'not-found' })
    await sandbox.bash('rm -rf a.png b')
  })

  test('by the same session of another key', async () => {
    await expect(picture('plot.png')).rejects.toMatchObject({ code: 'not-found' })
    expect(`${Buffer.from((await sandbox.box.picture(other, 'plot.png')).bytes)}`).toBe(`${secret}\n`)
  })

  test('by a file that becomes a link, again and again, while it is read', async () => {
    const swapping = new AbortController()
    const swap = sandbox.bash(`while :; do echo fine > f; mv f r.png; ln -s ${outside}/key l; mv l r.png; done`, {
      signal: swapping.signal,
    })
    let [read, refused] = [0, 0]
    while (read < 50 || refused < 50) {
      try {
        expect(['', 'fine\n']).toContain(`${Buffer.from((await picture('r.png')).bytes)}`)
        read++
      } catch (error) {
        expect(error).toMatchObject({ code: 'not-found' })
        refused++
      }
    }
    swapping.abort()
    await swap
  })
})
