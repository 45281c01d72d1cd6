import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { ask } from './ask.ts'
import { findLlamaServer, startLlamaServer } from './llama-server.ts'
import { startDragoman } from './processes.ts'

export type EngineOptions = {
  readonly modelPath: string
  readonly slots: number
  readonly contextLength: number
  /** The whole model is on the GPU. */
  readonly gpu: boolean
}

/** Greedy continuations of raw prompts, all at once: no chat template is involved, which would differ. */
export type Work = {
  readonly prompts: readonly string[]
  /** Of each continuation. Without a schema it is exactly as long. */
  readonly tokens: number
  /** Of every second one. */
  readonly everySecond?: number
  /** A JSON Schema that constrains them. */
  readonly schema?: object
}
/** The tokens of all prompts and continuations, and the time until the last one is complete. */
export type Done = { readonly promptTokens: number; readonly tokens: number; readonly ms: number }

/** The tokens of the continuation of this prompt. */
export function lengthOf({ tokens, everySecond = tokens }: Work, prompt: number): number {
  return prompt % 2 === 0 ? tokens : everySecond
}

export type RunningEngine = { run(work: Work): Promise<Done>; stop(): void }
export type BenchEngine = { readonly name: string; start(options: EngineOptions): Promise<RunningEngine> }

/** What runs a GGUF file here, on the GPU or on the CPU with one thread each; the first is ours, and the baseline of the ratios. */
export const engines: readonly BenchEngine[] = [
  { name: 'dragoman', start: startOurs },
  {
    name: 'llama-server',
    start: async (options) => overHttp(await startLlamaServer({ ...options, program: findLlamaServer() })),
  },
  { name: 'node-llama-cpp', start: startBareLlama },
]

async function startOurs({ modelPath, slots, contextLength, gpu }: EngineOptions): Promise<RunningEngine> {
  const model = { id: 'bench', engine: 'llama', source: modelPath, threads: 1, gpuLayers: gpu ? 'max' : 0, slots, contextLength }
  return overHttp(await startDragoman([model], { storage: 'off' }))
}

let asked = 0

/** Prompts that no cache has: they differ from the first word on. */
export function unseen(count: number, text: string): string[] {
  return Array.from({ length: count }, () => `${++asked}: ${text}`)
}

/** Runs the work of requests to a server. */
export function overHttp({ url, stop }: { readonly url: string; stop(): void }): RunningEngine {
  return {
    stop,
    async run(work) {
      const { prompts, schema } = work
      const startedMs = performance.now()
      const replies = await Promise.all(
        prompts.map((prompt, index) => complete(url, { prompt, tokens: lengthOf(work, index), schema })),
      )
      const ms = performance.now() - startedMs
      const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0)
      return {
        promptTokens: sum(replies.map(({ prompt_tokens }) => prompt_tokens)),
        tokens: sum(replies.map(({ completion_tokens }) => completion_tokens)),
        ms,
      }
    },
  }
}

type Completion = { readonly prompt: string; readonly tokens: number; readonly schema: object | undefined }
type Usage = { readonly prompt_tokens: number; readonly completion_tokens: number }

/** Reads a streamed completion. Resolves with the server's counts of tokens, which are in its last event. */
async function complete(url: string, { prompt, tokens, schema }: Completion): Promise<Usage> {
  const body = {
    model: 'bench',
    prompt,
    max_tokens: tokens,
    temperature: 0,
    stream: true,
    stream_options: { include_usage: true },
    ...(schema === undefined ? { ignore_eos: true } : { json_schema: schema }),
  }
  const reply = await fetch(`${url}/v1/completions`, {
    method: 'POST',
    // A kept connection may be closed at its other end while the others have their turns.
    headers: { 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify(body),
  })
  if (!reply.ok) throw new Error(`it answers ${reply.status}: ${(await reply.text()).slice(0, 200)}`)
  let last = ''
  for await (const piece of reply.body ?? []) last = last.slice(-4000) + Buffer.from(piece).toString('latin1')
  const usage = [...last.matchAll(/^data: (\{.*"usage":\{.*)$/gm)].at(-1)?.[1]
  if (usage === undefined) throw new Error(`its stream has no usage: ${last.slice(-200)}`)
  return (JSON.parse(usage) as { readonly usage: Usage }).usage
}

/** node-llama-cpp's own loop in a process of its own, without HTTP. */
async function startBareLlama(options: EngineOptions): Promise<RunningEngine> {
  const child = fork(fileURLToPath(new URL('./servers/bare-llama.ts', import.meta.url)), [], { execArgv: ['--import', 'tsx'] })
  await ask(child, { type: 'load', ...options })
  return {
    run: async (work) => (await ask(child, { type: 'run', ...work })) as Done,
    stop: () => void child.kill('SIGKILL'),
  }
}
