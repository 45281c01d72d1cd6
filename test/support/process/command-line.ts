import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll } from 'vitest'
import { until } from '../until.ts'
import { buildProgram, builtProgram as program } from './built-program.ts'
import { inTerminal } from './terminal.ts'

/** An address without a server. */
export const nowhere = 'http://127.0.0.1:9'

type Running = { child: ChildProcess; out: () => string; err: () => string; ended: Promise<number | null> }

/**
 * The built command line with a data folder of its own, for the tests of one file. `config` is a file with a scripted model. What still
 * runs when a test ends is killed.
 */
export function useCommandLine() {
  const folder = { home: '' }
  const launched = new Set<Running>()
  const kept = new Set<Running>()
  const configFile = () => join(folder.home, 'dragoman.yaml')

  beforeAll(async () => {
    buildProgram()
    folder.home = await mkdtemp(join(tmpdir(), 'dragoman-cli-'))
    await writeFile(configFile(), 'models:\n  - { id: scripted, engine: fake, script: from-request, aliases: [default] }\n')
  })
  afterEach(async () => {
    for (const { child, ended } of launched) {
      child.kill('SIGKILL')
      await ended
    }
  })
  afterAll(async () => {
    for (const { child, ended } of kept) {
      child.kill('SIGKILL')
      await ended
    }
    await rm(folder.home, { recursive: true, force: true })
  })

  /** Lets a process live until the last test of the file has ended. */
  function keep(running: Running): void {
    for (const one of launched) {
      if (one.child !== running.child) continue
      launched.delete(one)
      kept.add(one)
    }
  }

  function start(args: readonly string[], env: Record<string, string> = {}): Running {
    const running = launch([process.execPath, program, ...args], env)
    running.child.stdin?.end()
    return running
  }

  /** Runs the command in a terminal: what is written to its standard input are keys, and all that it shows is `out`. */
  function startOnTerminal(args: readonly string[]): Running & { type(keys: string): void } {
    const terminal = { TERM: 'xterm', NO_COLOR: '' }
    const running = launch(inTerminal([process.execPath, program, ...args]), terminal)
    return { ...running, type: (keys) => void running.child.stdin?.write(keys) }
  }

  /** Runs any command with the data folder. */
  function launch([command = '', ...args]: readonly string[], env: Record<string, string>): Running {
    const child = spawn(command, args, {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...process.env, DRAGOMAN_HOME: folder.home, DRAGOMAN_SERVER: nowhere, ...env },
    })
    const texts = { out: '', err: '' }
    child.stdout.setEncoding('utf8').on('data', (piece: string) => {
      texts.out += piece
    })
    child.stderr.setEncoding('utf8').on('data', (piece: string) => {
      texts.err += piece
    })
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
    const running = { child, out: () => texts.out, err: () => texts.err, ended }
    launched.add(running)
    void ended.then(() => launched.delete(running))
    return running
  }

  async function run(args: readonly string[], env: Record<string, string> = {}) {
    const running = start(args, env)
    const code = await running.ended
    return { code, out: running.out(), err: running.err() }
  }

  async function serve(args: readonly string[] = [], env: Record<string, string> = {}) {
    const server = start(['serve', '--config', configFile(), '--port', '0', '--log-level', 'warn', ...args], env)
    await until(() => server.out().includes('\n') || server.child.exitCode !== null)
    const port = /:(\d+)$/m.exec(server.out().trim())?.[1]
    return { ...server, url: `http://127.0.0.1:${port}` }
  }

  return {
    start,
    startOnTerminal,
    launch,
    run,
    serve,
    keep,
    get home() {
      return folder.home
    },
    get config() {
      return configFile()
    },
  }
}
