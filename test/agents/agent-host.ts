import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { z } from 'zod'
import { until } from '../support/http/app.ts'
import { buildProgram, builtProgram as program } from '../support/process/built-program.ts'
import { testTools } from '../support/process/test-tools.ts'
import { type ClosedNetwork, openClosedNetwork } from './closed-network.ts'

const installs = z
  .record(z.string(), z.object({ version: z.string() }))
  .parse(JSON.parse(readFileSync(new URL('./installs.json', import.meta.url), 'utf8')))

/** The folder for the PATH with this agent, where scripts/installers/agents.mjs puts it; undefined if it is not installed. */
export function installedAgent(name: string): string | undefined {
  const folder = join(testTools, `agent-${name}-${installs[name]?.version}`, 'bin')
  return existsSync(folder) ? folder : undefined
}

/** Why a test of this agent is skipped, for its name. */
export function agentHint(name: string): string {
  return installedAgent(name) === undefined ? ' (skipped: install it with `npm run agents`)' : ''
}

/** `status` is that of a reply; other entries have texts under this name. */
const logEntry = z.object({
  level: z.number(),
  msg: z.string().optional(),
  route: z.string().optional(),
  status: z.number().optional().catch(undefined),
})

type Running = {
  readonly child: ChildProcess
  readonly out: () => string
  readonly err: () => string
  readonly ended: Promise<number | null>
}

export type AgentRun = Running & {
  /** The agent's working folder. */
  readonly work: string
}

/** A server in a closed network, and agents that `dragoman launch` starts in it. */
export type AgentHost = {
  readonly network: ClosedNetwork
  /** Removed with the host. */
  readonly home: string
  /** A fresh HOME and a working folder with these files. */
  start(
    name: string,
    args: {
      launch: readonly string[]
      agent: readonly string[]
      files: Record<string, string>
      /** What the user has set. */
      env?: Record<string, string>
    },
  ): Promise<AgentRun>
  /** The log since the last call. */
  takeLog(): z.infer<typeof logEntry>[]
  /** The value of a line of /metrics; 0 while there is no such line. */
  metric(line: string): Promise<number>
  close(): Promise<void>
}

/** Agents must send the first; the server refuses requests without a key. */
const apiKey = 'key-of-the-agents'
const metricsKey = 'key-of-the-metrics'
const apiKeys = [
  { key: apiKey, scopes: ['inference'] },
  { key: metricsKey, scopes: ['metrics'] },
]

export async function openAgentHost(config: object): Promise<AgentHost> {
  buildProgram()
  const home = await mkdtemp(join(tmpdir(), 'dragoman-agents-'))
  const network = await openClosedNetwork()
  const launch = ([command = '', ...args]: readonly string[], options: { cwd: string; env: NodeJS.ProcessEnv }): Running => {
    const [first = command, ...rest] = [...network.prefix, command, ...args]
    return follow(spawn(first, rest, { stdio: ['ignore', 'pipe', 'pipe'], ...options }))
  }
  // Most agents are megabytes of JavaScript.
  const { PATH, NODE_COMPILE_CACHE } = process.env
  const serverEnv = { PATH, NODE_COMPILE_CACHE, HOME: home, DRAGOMAN_HOME: home }
  const configFile = join(home, 'dragoman.json')
  await writeFile(configFile, JSON.stringify({ ...config, server: { port: 0, apiKeys } }))
  const serve = [process.execPath, program, 'serve', '--config', configFile, '--log-level', 'debug']
  const server = launch(serve, { cwd: home, env: serverEnv })
  await until(() => server.out().includes('\n') || server.child.exitCode !== null)
  const url = server.out().trim().replace('listening on ', '')
  let taken = 0
  const runs: Running[] = []

  return {
    network,
    home,
    start: async (name, { launch: flags, agent, files, env: own }) => {
      const folder = await mkdtemp(join(home, `${name}-`))
      const work = join(folder, 'work')
      await mkdir(work)
      for (const [file, text] of Object.entries(files)) {
        await mkdir(dirname(join(work, file)), { recursive: true })
        await writeFile(join(work, file), text)
      }
      const env = {
        ...network.env,
        PATH: [installedAgent(name), PATH].join(delimiter),
        NODE_COMPILE_CACHE,
        HOME: folder,
        TERM: 'dumb',
        DRAGOMAN_SERVER: url,
        DRAGOMAN_API_KEY: apiKey,
        // What agents ask of other servers would fail, after a time.
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        PI_OFFLINE: '1',
        ...own,
      }
      const run = launch([process.execPath, program, 'launch', name, ...flags, '--', ...agent], { cwd: work, env })
      runs.push(run)
      return { ...run, work }
    },
    takeLog: () => {
      const lines = server.err().split('\n').slice(taken, -1)
      taken += lines.length
      return lines.map((line) => logEntry.parse(JSON.parse(line)))
    },
    metric: async (line) => {
      const script = `const answer = await fetch('${url}/metrics', { headers: { authorization: 'Bearer ${metricsKey}' } })
        if (!answer.ok) throw new Error(answer.status)
        process.stdout.write(await answer.text())`
      const asked = launch([process.execPath, '--input-type=module', '-e', script], { cwd: home, env: serverEnv })
      if ((await asked.ended) !== 0) throw new Error(`no metrics: ${asked.err()}`)
      const found = asked
        .out()
        .split('\n')
        .find((candidate) => candidate.startsWith(`${line} `))
      return found === undefined ? 0 : Number(found.slice(line.length + 1))
    },
    close: async () => {
      // Those of tests that failed.
      for (const { child } of runs) child.kill('SIGTERM')
      await Promise.all(runs.map(({ ended }) => ended))
      server.child.kill('SIGTERM')
      await server.ended
      await network.close()
      await rm(home, { recursive: true, force: true })
    },
  }
}

function follow(child: ChildProcess): Running {
  const texts = { out: '', err: '' }
  child.stdout?.setEncoding('utf8').on('data', (piece: string) => {
    texts.out += piece
  })
  child.stderr?.setEncoding('utf8').on('data', (piece: string) => {
    texts.err += piece
  })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  return { child, out: () => texts.out, err: () => texts.err, ended }
}
