import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { encodeSmallModel, type SmallArchitecture } from '../../test/support/llama/random-architectures.ts'
import { findLlamaServer, startLlamaServer } from '../llama-server.ts'
import { startDragoman } from '../processes.ts'
import { median } from '../report/report.ts'
import type { Row, Section } from '../report/section.ts'
import { startAll } from '../rounds.ts'
import { agentSession, agentText, type ChatMessage, type SessionSize } from './sessions.ts'

type Options = {
  /** A folder of GGUF files; absent: small random models, which are made. */
  readonly folder: string | undefined
  readonly size: Omit<SessionSize, 'tokensPerWord'>
}

const architectures: readonly SmallArchitecture[] = ['llama', 'qwen3moe', 'deepseek2', 'gemma3', 'gpt-oss', 'lfm2', 'mamba']
const contextLength = 32_768
const answerTokens = 24

type Server = { readonly name: string; url(): string; swap(): Promise<void>; restart(): Promise<void>; stop(): void }
/** The work for one request: its prompt, the part that a cache had, the part that the best cache would have had, and the first token. */
type Sample = {
  readonly kind: string
  readonly prompt: number
  readonly cached: number
  readonly ideal: number
  readonly firstMs: number
}

/** A session of an agent, on models of several architectures: tokens computed and the first token, beside llama-server. */
export async function compareSessions({ folder, size }: Options): Promise<Section[]> {
  const made = folder === undefined ? await mkdtemp(join(tmpdir(), 'dragoman-sessions-')) : undefined
  try {
    const files = folder === undefined ? await writeModels(made ?? '') : await modelsIn(folder)
    const sections: Section[] = []
    for (const file of files) sections.push(await compareOn(file, size))
    return sections
  } finally {
    if (made !== undefined) await rm(made, { recursive: true })
  }
}

async function writeModels(folder: string): Promise<readonly string[]> {
  const files = architectures.map((name) => ({ name, path: join(folder, `${name}.gguf`) }))
  for (const { name, path } of files) await writeFile(path, encodeSmallModel(name, { width: 32, window: 1024 }))
  return files.map(({ path }) => path)
}

async function modelsIn(folder: string): Promise<readonly string[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.gguf')).sort()
  if (names.length === 0) throw new Error(`--models: there is no GGUF file in ${folder}`)
  return names.map((name) => join(folder, name))
}

async function compareOn(modelPath: string, size: Options['size']): Promise<Section> {
  const { running, missing } = await startAll([dragoman(modelPath), llamaServer(modelPath)], ({ start }) => start())
  const samples = new Map<string, readonly Sample[]>()
  try {
    for (const server of running) samples.set(server.name, await replay(server, size))
  } finally {
    for (const { stop } of running) stop()
  }
  return {
    title: `session on ${basename(modelPath, '.gguf')}: the first token`,
    ratio: 'computed / ideal tokens',
    unit: 'ms',
    isTime: true,
    rows: rowsOf(samples),
    missing,
  }
}

function dragoman(modelPath: string) {
  const model = { id: 'bench', engine: 'llama', source: modelPath, threads: 1, gpuLayers: 0, slots: 1, contextLength }
  const start = async () => {
    const home = await mkdtemp(join(tmpdir(), 'dragoman-sessions-home-'))
    let running = await startDragoman([model], { storage: 'off', home })
    return {
      url: () => running.url,
      async swap() {
        await post(`${running.url}/api/generate`, { keep_alive: 0 })
      },
      async restart() {
        await running.end()
        running = await startDragoman([model], { storage: 'off', home })
      },
      stop: () => running.stop(),
    }
  }
  return { name: 'dragoman', start }
}

/** It keeps nothing of what it has read when its process ends, as a router ends it for another model. */
function llamaServer(modelPath: string) {
  const launch = () => startLlamaServer({ program: findLlamaServer(), modelPath, slots: 1, contextLength })
  const start = async () => {
    let running = await launch()
    const restart = async () => {
      running.stop()
      running = await launch()
    }
    return {
      url: () => running.url,
      swap: restart,
      restart,
      stop: () => running.stop(),
    }
  }
  return { name: 'llama-server', start }
}

/** Each kind of request in the order of the session, on one server after the other. */
function rowsOf(all: ReadonlyMap<string, readonly Sample[]>): Row[] {
  const kinds = new Set([...all.values()].flatMap((samples) => samples.map(({ kind }) => kind)))
  return [...kinds].flatMap((kind) =>
    [...all].map(([server, samples]) => {
      const same = samples.filter((sample) => sample.kind === kind)
      const values = same.map(({ firstMs }) => firstMs)
      const sum = (of: (sample: Sample) => number) => same.reduce((total, sample) => total + of(sample), 0)
      const ratio = sum(({ prompt, cached }) => prompt - cached) / sum(({ prompt, ideal }) => prompt - ideal)
      return { name: `${kind}, on ${server}`, values, median: median(values), ratio }
    }),
  )
}

/** Sends a session, whose answers are those of the server itself. */
async function replay(server: Server, size: Options['size']): Promise<readonly Sample[]> {
  const words = 100
  const tokensPerWord = (await tokenize(server, agentText(0, words))).length / words
  const answers = new Map<string, string[]>()
  const seen: (readonly number[])[] = []
  const samples: Sample[] = []
  for (const { kind, thread, messages, after } of agentSession({ ...size, tokensPerWord })) {
    if (after !== undefined) await server[after]()
    const said = answers.get(thread) ?? answers.get('main') ?? []
    const asked = messages(thread === 'subordinate' ? (answers.get(thread) ?? []) : said)
    const prompt = await render(server, asked)
    const tokens = await tokenize(server, prompt)
    const { text, ...measured } = await chat(server, asked)
    // One token has to be computed in any case.
    const ideal = Math.min(tokens.length - 1, Math.max(0, ...seen.map((known) => commonLength(known, tokens))))
    seen.push(await tokenize(server, prompt + text))
    if (thread === 'main' || thread === 'subordinate') answers.set(thread, [...(answers.get(thread) ?? []), text])
    samples.push({ kind, ideal, ...measured })
  }
  return samples
}

async function post(url: string, body: object): Promise<Response> {
  const reply = await fetch(url, {
    method: 'POST',
    // A connection that a server closes while it is idle would fail the next request.
    headers: { 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify({ model: 'bench', ...body }),
  })
  if (!reply.ok) throw new Error(`${url}: ${await reply.text()}`)
  return reply
}

async function render({ url }: Server, messages: readonly ChatMessage[]): Promise<string> {
  return ((await (await post(`${url()}/apply-template`, { messages })).json()) as { prompt: string }).prompt
}

async function tokenize({ url }: Server, content: string): Promise<readonly number[]> {
  const body = { content, add_special: true, parse_special: true }
  return ((await (await post(`${url()}/tokenize`, body)).json()) as { tokens: number[] }).tokens
}

/** The answer to a conversation, with its usage. */
async function chat({ url }: Server, messages: readonly ChatMessage[]) {
  const fields = { temperature: 0, max_tokens: answerTokens, stream: true, stream_options: { include_usage: true } }
  const startedMs = performance.now()
  const reply = await post(`${url()}/v1/chat/completions`, { messages, ...fields })
  let [firstMs, text, rest, prompt, cached] = [Number.NaN, '', '', 0, 0]
  const decoder = new TextDecoder()
  for await (const bytes of reply.body ?? []) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines.filter((each) => each.startsWith('data: {'))) {
      const { choices, usage } = JSON.parse(line.slice('data: '.length)) as Chunk
      const { content = '', reasoning_content: thought = '' } = choices?.[0]?.delta ?? {}
      if (Number.isNaN(firstMs) && `${content ?? ''}${thought ?? ''}` !== '') firstMs = performance.now() - startedMs
      text += content ?? ''
      if (usage) [prompt, cached] = [usage.prompt_tokens, usage.prompt_tokens_details?.cached_tokens ?? 0]
    }
  }
  // A model may end its turn before it says anything.
  return { text, prompt, cached, firstMs: Number.isNaN(firstMs) ? performance.now() - startedMs : firstMs }
}

type Chunk = {
  readonly choices?: readonly {
    readonly delta: { readonly content?: string | null; readonly reasoning_content?: string | null }
  }[]
  readonly usage?: { readonly prompt_tokens: number; readonly prompt_tokens_details?: { readonly cached_tokens?: number } } | null
}

function commonLength(first: readonly number[], second: readonly number[]): number {
  let common = 0
  while (common < first.length && first[common] === second[common]) common += 1
  return common
}
