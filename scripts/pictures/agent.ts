import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { modelFile } from '../../bench/model-file.ts'
import { startDragoman } from '../../bench/processes.ts'
import { installedAgent } from '../../test/agents/agent-host.ts'
import { type Film, type Frame, filmOf } from './film.ts'
import { openTerminal } from './terminal.ts'

const root = join(import.meta.dirname, '..', '..')
const questions = ['What is the capital of France?', 'And the capital of Italy?', 'And of Peru?']
const everyMs = 100
const readingMs = 1500
const longestMs = 300_000
const [columns, rows] = [84, 20]

/** What `GET /api/requests` says of a request. */
type Request = {
  readonly started_at_ms: number
  readonly ended_at_ms?: number
  readonly input_tokens?: number
  readonly cached_tokens?: number
  readonly timings?: { readonly first_token_ms?: number }
}

/**
 * Films pi on the default model, a real run in real time; below its terminal, what the server says of each turn. pi comes from
 * `npm run agents`.
 */
export async function filmAgent(): Promise<Film> {
  const agent = installedAgent('pi')
  if (agent === undefined) throw new Error('pi is not installed: `npm run agents` installs it')
  const settings = { contextLength: 8192, slots: 1, defaults: { temperature: 0 } }
  const model = { id: 'smollm2-135m', engine: 'llama', source: await modelFile(undefined), ...settings }
  const server = await startDragoman([model])
  const home = mkdtempSync(join(tmpdir(), 'dragoman-agent-'))
  mkdirSync(join(home, 'project', '.pi'), { recursive: true })
  // It would sum up every conversation that leaves less than 16,384 tokens of the context, and the model was trained for 8,192.
  writeFileSync(
    join(home, 'project', '.pi', 'settings.json'),
    JSON.stringify({ compaction: { enabled: false }, quietStartup: true }),
  )
  const env = { HOME: home, DRAGOMAN_SERVER: server.url, PI_OFFLINE: '1' }
  const terminal = openTerminal({ columns, rows: rows + 20, folder: join(home, 'project'), env })
  try {
    const path = `${agent}${delimiter}${process.env.PATH}`
    const program = join(root, 'dist', 'cli', 'program.js')
    terminal.enter(`export PATH='${path}'; dragoman() { ${process.execPath} ${program} "$@"; }; clear`)
    terminal.enter('dragoman launch pi')
    await terminal.shows(model.id.concat('\n'))
    // Above are the shell and what pi lacks on this machine.
    const above = terminal
      .text()
      .split('\n')
      .findIndex((line) => line.startsWith('──'))
    const screen = () =>
      terminal
        .styled()
        .split('\n')
        .slice(above, above + rows)
    return filmOf(await record(server.url, { enter: terminal.enter, screen }), {
      title: 'dragoman launch pi      SmolLM2 135M (Q4_1) on two processor cores, real time',
      columns,
      rows: rows + questions.length + 1,
    })
  } finally {
    terminal.close()
    server.stop()
    // pi writes until it ends.
    await rm(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 500 }).catch(() => undefined)
  }
}

async function record(url: string, { enter, screen }: { enter(text: string): void; screen(): readonly string[] }) {
  const frames: Frame[] = []
  const startedMs = performance.now()
  const look = async () => {
    const { requests } = (await (await fetch(`${url}/api/requests`)).json()) as { requests: readonly Request[] }
    const turns = [...requests].sort((a, b) => a.started_at_ms - b.started_at_ms)
    const lines = [...screen(), '', ...questions.map((_, index) => turnLine(index + 1, turns[index]))]
    frames.push({ atMs: performance.now() - startedMs, lines })
    return turns.filter(({ ended_at_ms: end }) => end !== undefined).length
  }
  const watch = async (isOver: (ended: number, passedMs: number) => boolean) => {
    for (const sinceMs = performance.now(); ; ) {
      const passedMs = performance.now() - sinceMs
      if (isOver(await look(), passedMs)) return
      if (passedMs > longestMs) throw new Error(`pi has no answer after ${longestMs} ms`)
      await new Promise((resolve) => setTimeout(resolve, everyMs))
    }
  }
  await watch((_, passedMs) => passedMs > readingMs)
  for (const [index, question] of questions.entries()) {
    enter(question)
    await watch((ended) => ended > index)
    await watch((_, passedMs) => passedMs > readingMs)
  }
  return frames
}

function turnLine(turn: number, request: Request | undefined): string {
  if (request === undefined) return ` turn ${turn}`
  const { started_at_ms: startedAtMs, input_tokens: input, cached_tokens: cached, timings } = request
  const firstMs = timings?.first_token_ms
  if (firstMs === undefined) return ` turn ${turn}                     ${seconds(Date.now() - startedAtMs)}`
  return ` turn ${turn}   first token after ${seconds(firstMs)}   prompt of ${input} tokens, ${cached} from the cache`
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`.padStart(6)
