import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ToolOutcome } from '../../../src/contract/server-tool.ts'
import { findIsolation } from '../../../src/tools/sandbox/isolation.ts'
import { runProgram } from '../../../src/tools/sandbox/run-program.ts'
import { startApp } from '../../support/http/app.ts'
import { runAsOrdinaryUser } from '../../support/process/ordinary-user.ts'
import { hasSandbox, processesWith, sandboxHint, startSandbox, type TestSandbox } from '../../support/tools/sandbox.ts'

/** Stands in commands, so that their processes are found. */
const mark = `mark-${randomBytes(6).toString('hex')}`
const session = (id: string) => ({ session: { principalId: 'key', id } })

let sandbox: TestSandbox
beforeAll(async () => {
  if (hasSandbox) sandbox = await startSandbox()
})
afterAll(async () => {
  await sandbox?.close()
})

/** No process is left; those that were killed need a moment to be gone. */
const nothingIsLeft = () => expect.poll(() => processesWith(mark)).toEqual([])

describe.skipIf(!hasSandbox)(`a program that takes too much is ended, and its session works again${sandboxHint}`, () => {
  type Case = readonly [string, 'bash' | 'python', string, RegExp]
  const cases: readonly Case[] = [
    ['processes, by fork', 'python', 'import os\nwhile True: os.fork()', /Resource temporarily unavailable/],
    [
      'threads',
      'python',
      'import threading, time\nfor _ in range(1000): threading.Thread(target=time.sleep, args=(30,), daemon=True).start()',
      /can't start new thread/,
    ],
    ['memory, at once', 'python', 'x = bytearray(2 * 10**9)', /^Exit code 1:[\s\S]*MemoryError/],
    ['memory, by and by', 'python', 'x = []\nwhile True: x.append(bytearray(10**6))', /MemoryError|more than 256 MB of memory/],
    [
      'memory, by many processes',
      'python',
      'import os, time\nfor _ in range(4): os.fork()\nx = bytearray(60 * 10**6)\ntime.sleep(60)',
      /more than 256 MB of memory/,
    ],
    [
      'memory that is shared',
      'python',
      'import mmap, time\nx = mmap.mmap(-1, 10**9)\nfor at in range(0, 10**9, 4096): x[at] = 1\ntime.sleep(60)',
      /more than 256 MB of memory/,
    ],
    ['memory in /dev/shm', 'bash', 'head -c 1G /dev/zero > /dev/shm/a', /No space left|File size limit|Exit code 153/],
    [
      'memory in /tmp',
      'bash',
      'for i in {1..20}; do head -c 16M /dev/zero > /tmp/$i || exit 9; done',
      /^Exit code 9:[\s\S]*No space left/,
    ],
    ['a file', 'bash', 'head -c 1G /dev/zero > a', /Exit code (153|1):/],
    [
      'room for a file',
      'python',
      'import os\nos.posix_fallocate(os.open("a", os.O_RDWR | os.O_CREAT), 0, 10**11)',
      /File too large/,
    ],
    [
      'files',
      'bash',
      'for i in {1..8}; do head -c 30M /dev/zero > $i; done; sleep 60',
      /left more than 64 MB in the session's folder/,
    ],
    [
      'a file that is written over and over',
      'python',
      `import os
opened = os.open('a', os.O_RDWR | os.O_CREAT)
while True: os.pwrite(opened, bytes(30 * 10**6), 0); os.fsync(opened)`,
      /wrote more than 256 MB to the disk/,
    ],
    [
      'many files',
      'python',
      'import os\nfor i in range(11000): os.close(os.open(str(i), os.O_CREAT | os.O_WRONLY))',
      /made more than 10000 files/,
    ],
    ['deep folders', 'python', 'import os\nfor i in range(500): os.mkdir("d" * 200); os.chdir("d" * 200)', /64 deep/],
    [
      'a folder that is closed',
      'bash',
      'mkdir -p c/d; head -c 9 /dev/zero > c/d/a; chmod 0 c/d c; exit 3',
      /^(All files|Exit code 3)/,
    ],
    [
      'names that are not text',
      'bash',
      `touch $'a\\nb' $'\\xff\\xfe' -- '-rf' '*' "$(printf 'x%.0s' {1..255})"; touch "$(printf 'x%.0s' {1..256})"`,
      /File name too long/,
    ],
    ['output', 'bash', 'yes', /wrote more than 4 MB of output/],
    ['output without lines', 'bash', 'cat /dev/zero', /wrote more than 4 MB of output/],
    ['output of errors', 'bash', 'yes >&2', /wrote more than 4 MB of output/],
    ['open files', 'python', 'held = []\nwhile True: held.append(open("/dev/null"))', /Too many open files/],
    ['pipes', 'python', 'import os\nheld = []\nwhile True: held.append(os.pipe())', /Too many open files/],
    ['input', 'python', 'input()', /EOFError/],
  ]
  test.each(cases)('%s', async (name, language, code, expected) => {
    const at = session(name)
    const outcome = await sandbox[language](code, { ...at, signal: AbortSignal.timeout(20_000) })
    expect(outcome.text).toMatch(expected)
    expect(outcome.text.length).toBeLessThanOrEqual(8000)
    expect(outcome).toMatchObject({ isError: true, advice: expect.any(String) })
    expect((await sandbox.bash('echo works', at)).text).toBe('works\n')
  })

  test('processor time', async () => {
    const busy = await startSandbox({ cpuSeconds: 1 })
    try {
      const outcome = await busy.bash('while :; do :; done')
      expect(outcome).toMatchObject({ exitCode: 128 + 24, advice: expect.stringContaining('processor time') })
    } finally {
      await busy.close()
    }
  })

  test('time', async () => {
    const slow = await startSandbox({ timeoutMs: 500 })
    try {
      expect(
        (await slow.python("import signal, time\nsignal.signal(15, signal.SIG_IGN)\nprint('begun')\ntime.sleep(600)")).text,
      ).toBe('Ended by the server: the program ran longer than 0.5 s.\nbegun\n')
      expect((await slow.bash('kill -STOP $$')).text).toMatch(/ran longer than 0.5 s/)
    } finally {
      await slow.close()
    }
  })
})

describe.skipIf(!hasSandbox)(`nothing is left behind${sandboxHint}`, () => {
  test.each([
    ['a job in the background', 'sleep 600 & disown; echo begun'],
    ['a process in a session of its own', 'setsid nohup sleep 600 > /dev/null 2>&1 & echo begun'],
    [
      'a daemon that closes what it has',
      `python3 -c 'import os, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
os.closerange(0, 256); time.sleep(600)'; echo begun`,
    ],
    [
      'processes that start others when they end',
      `python3 -c 'import os, signal, time
for _ in range(10):
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, lambda *_: os.fork()); time.sleep(600)
' & echo begun`,
    ],
  ])('of %s', async (_, command) => {
    const { text } = await sandbox.bash(`: ${mark}; ${command}`)
    expect(text).toBe('begun\n')
    await nothingIsLeft()
  })

  test('of a first process that does not end with its parent', async () => {
    // As bubblewrap tells it, of a process in another namespace that has let go of everything.
    const command = `exec 4>&1; unshare --user --map-root-user --pid --fork sleep 600.${mark.length} > /dev/null 2>&1 4>&- 3>&- & parent=$!
until first=$(cat /proc/$parent/task/$parent/children) && [ -n "$first" ]; do :; done
echo '{ "child-pid": '$first' }' >&3; echo $first; exit 0`
    const launch = { command: 'bash', args: ['-c', command], env: { PATH: '/usr/bin:/bin' }, descriptors: ['status'] as const }
    const watch = { everyMs: 10_000, tooMuch: () => undefined }
    const { output } = await runProgram(launch, watch, AbortSignal.timeout(30_000))
    expect(output.trim()).toMatch(/^\d+$/)
    await expect.poll(() => readdirSync('/proc').includes(output.trim())).toBe(false)
  })

  test('when the server has ended before its program starts, and its files are still open', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'dragoman-sandbox-'))
    try {
      const isolation = await findIsolation('bubblewrap', undefined)
      const program = { language: 'bash', code: `echo begun; exec sleep 600.${mark.length}; : ${mark}` } as const
      const limits = { memoryBytes: 1e9, diskBytes: 1e6, fileBytes: 1e6, cpuSeconds: 60, processes: 20 }
      await chmod(folder, 0o777)
      const { command, args, env, user, descriptors } = isolation.launch({ program, folder, limits })
      const stdio = ['ignore', 'pipe', 'pipe', ...descriptors.map(() => 'pipe' as const)] as const
      const child = spawn(command, args, { env, ...user, stdio: [...stdio] })
      let said = ''
      child.stdout?.on('data', (bytes) => {
        said += bytes
        child.kill('SIGKILL')
      })
      for (const [index, content] of descriptors.entries()) {
        const stream = child.stdio[index + 3] as Duplex
        if (content === 'server') {
          stream.write('\n')
          stream.once('data', () => stream.end())
        } else stream.on('error', () => undefined).end(content === 'status' ? undefined : content)
      }
      await once(child, 'close')
      expect(said).toBe('')
      await nothingIsLeft()
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })

  test('when the server is killed', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'dragoman-sandbox-'))
    await chmod(folder, 0o711)
    const module = import.meta.resolve('../../../dist/tools/sandbox/sandbox-tools.js')
    const limits = {
      runtime: 'bubblewrap',
      timeoutMs: 60000,
      cpuSeconds: 60,
      memoryBytes: 1e9,
      processes: 20,
      fileBytes: 1e6,
      diskBytes: 1e6,
    }
    const script = `const { SandboxTools } = await import(${JSON.stringify(module)})
const box = new SandboxTools({ terminal: ${JSON.stringify(limits)}, folder: ${JSON.stringify(folder)}, idleMs: 60000 })
const [tool] = (await box.list()).tools
tool.run({ arguments: { command: ': ${mark}; echo > begun; sleep 600' }, session: { principalId: 'a', id: 'b' }, signal: new AbortController().signal })`
    const server = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'ignore' })
    try {
      const hasBegun = () => processesWith(`echo > begun; sleep`).filter((pid) => Number(pid) !== server.pid).length >= 2
      await expect.poll(hasBegun).toBe(true)
      await pause(200)
      server.kill('SIGKILL')
      await once(server, 'exit')
      await nothingIsLeft()
    } finally {
      server.kill('SIGKILL')
      await rm(folder, { recursive: true, force: true })
    }
  })
})

describe.skipIf(!hasSandbox)(`a program that waits for its turn${sandboxHint}`, () => {
  test('has all its time from its start on', async () => {
    const slow = await startSandbox({ timeoutMs: 8000 })
    try {
      const [first, second] = await Promise.all([slow.bash('sleep 5; echo one'), slow.bash('sleep 5; echo two')])
      expect([first?.text, second?.text]).toEqual(['one\n', 'two\n'])
    } finally {
      await slow.close()
    }
  })

  test('says that it was not started, where its turn does not come', async () => {
    const slow = await startSandbox({ timeoutMs: 1000 })
    try {
      const [, , third] = await Promise.all([1, 2, 3].map(() => slow.bash('sleep 600')))
      expect(third).toEqual({
        text: 'The program was not started: for 1 s, it waited for other programs to end.',
        isError: true,
        advice: 'Nothing was done. Try it again later, or answer without it.',
      })
    } finally {
      await slow.close()
    }
  })

  test('does not wait for the sleeping programs of another key', async () => {
    const ending = new AbortController()
    const sleeping = Array.from({ length: 2 * availableParallelism() + 2 }, (_, index) =>
      sandbox.bash('sleep 600', { ...session(`sleeping ${index}`), signal: ending.signal }),
    )
    const other = { session: { principalId: 'other key', id: 'other' } }
    expect((await sandbox.bash('echo works', other)).text).toBe('works\n')
    ending.abort()
    await Promise.all(sleeping)
  })
})

describe.skipIf(!hasSandbox)(`a cancelled program${sandboxHint}`, () => {
  /** Cancels when a program is so far. */
  async function cancelWhen(command: string, isReady: () => boolean, name: string): Promise<ToolOutcome> {
    const cancelling = new AbortController()
    const running = sandbox.bash(`: ${mark}; ${command}`, { ...session(name), signal: cancelling.signal })
    await expect.poll(isReady, { interval: 5 }).toBe(true)
    cancelling.abort()
    return await running
  }

  test.each([
    ['sleeps', 'sleep 600'],
    ['computes', 'while :; do :; done'],
    ['writes without end', 'cat /dev/zero | head -c 3M; sleep 600'],
    ['starts processes without end', 'while :; do sleep 600 & done 2> /dev/null'],
    ['refuses to end', "trap '' TERM INT HUP; while :; do sleep 600; done"],
  ])('that %s ends at once, with all that it started', async (name, command) => {
    const outcome = await cancelWhen(command, () => processesWith(mark).length >= 2, name)
    expect(outcome).toMatchObject({ isError: true, text: expect.stringMatching(/^Ended by the server before/) })
    expect(outcome.exitCode).toBeUndefined()
    await nothingIsLeft()
  })

  test('never starts when it is cancelled before, or while it waits for another of its session', async () => {
    expect((await sandbox.bash('echo begun', { signal: AbortSignal.abort() })).text).toBe(
      'Ended by the server before the program was started.',
    )
    const [first, second] = [new AbortController(), new AbortController()]
    const running = sandbox.bash(`: ${mark}; sleep 600`, { ...session('busy'), signal: first.signal })
    const waiting = sandbox.bash('echo begun > begun', { ...session('busy'), signal: second.signal })
    await expect.poll(() => processesWith(mark).length).toBeGreaterThanOrEqual(2)
    second.abort()
    expect((await waiting).isError).toBe(true)
    first.abort()
    await running
    expect((await sandbox.bash('ls', session('busy'))).text).toBe('(no output)')
  })

  test('leaves nothing, at 200 moments from its start on', async () => {
    const moments = Array.from({ length: 200 }, (_, index) => (index * 7919) % 60)
    const lanes = ['a', 'b', 'c', 'd'].map(async (lane, first) => {
      for (let index = first; index < moments.length; index += 4) {
        const outcome = await sandbox.bash(`: ${mark}; setsid sleep 600 & sleep 600`, {
          ...session(lane),
          signal: AbortSignal.timeout(moments[index] as number),
        })
        expect(outcome.text).toMatch(/^Ended by the server before/)
      }
    })
    await Promise.all(lanes)
    await nothingIsLeft()
  })
})

test.skipIf(!hasSandbox)(`a stream has all its events while programs take what they can${sandboxHint}`, async () => {
  const app = await startApp({ models: [{ id: 'm', engine: 'fake', script: 'from-request' }], builtinModel: false })
  const ending = new AbortController()
  const greedy = [
    'while :; do sleep 600 & done 2> /dev/null',
    "python3 -c 'import os\nfor _ in range(3): os.fork()\nwhile True: pass'",
    'while :; do head -c 20M /dev/zero > a; done',
    'while :; do echo line; sleep 0.001; done',
  ]
  const runs = greedy.map(async (command, index) => {
    // Those that end for what they took begin again.
    while (!ending.signal.aborted) await sandbox.bash(command, { ...session(`greedy ${index}`), signal: ending.signal })
  })
  try {
    const script = JSON.stringify({ chunks: Array.from({ length: 100 }, (_, index) => `${index} `), delayMs: 10 })
    const reply = await fetch(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', stream: true, messages: [{ role: 'user', content: script }] }),
    })
    const events = (await reply.text()).split('\n\n').filter((event) => event.includes('"content":"'))
    const texts = events.map((event) => JSON.parse(event.slice('data: '.length)).choices[0].delta.content).join('')
    expect(texts).toContain('98 99')
    expect(events.length).toBeGreaterThanOrEqual(100)
  } finally {
    ending.abort()
    await Promise.all(runs)
    await app.close()
  }
})

test.skipIf(!hasSandbox || process.getuid?.() !== 0)('an ordinary user has the same sandbox as root', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-sandbox-'))
  try {
    const limits = {
      runtime: 'bubblewrap',
      timeoutMs: 60000,
      cpuSeconds: 60,
      memoryBytes: 2e8,
      processes: 20,
      fileBytes: 1e6,
      diskBytes: 1e6,
    }
    const script = `const { SandboxTools } = await import('./dist/tools/sandbox/sandbox-tools.js')
const box = new SandboxTools({ python: ${JSON.stringify(limits)}, folder: ${JSON.stringify(join(folder, 'own'))}, idleMs: 60000 })
const { tools: [tool], absent } = await box.list()
const run = (code) => tool.run({ arguments: { code }, session: { principalId: 'a', id: 'b' }, signal: new AbortController().signal })
if (tool === undefined) console.log(absent[0].why)
else console.log(JSON.stringify([await run('print(open("/proc/self/uid_map").read().split())'), await run('import os, time\\nfor _ in range(3): os.fork()\\nx = bytearray(10**8); time.sleep(60)')]))
await box.close()`
    expect(JSON.parse(runAsOrdinaryUser(folder, script))).toMatchObject([
      { isError: false, text: expect.stringContaining("'1000'") },
      { text: expect.stringMatching(/more than 191 MB of memory/) },
    ])
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
